import type { SessionEntry } from "@millrace/api-contract";
import { endSession } from "@millrace/operations";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { reasonText } from "../parse-option.ts";
import { actorOf, withLedger } from "../stores.ts";
import { formatTable, printable } from "../terminal-text.ts";

const SESSIONS_HELP = `
A session that is ended is refused by every dashboard within ten seconds. To end all sessions of a user
for good, change the password.

Examples:
  $ millrace sessions
  $ millrace sessions --end Yk3vQ2... --reason "the laptop was lost"`;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("sessions")
    .description("list who is signed in to the dashboard, or end a session")
    .option("--end <id>", "end this session")
    .option("--reason <text>", "reason, recorded in the audit log", reasonText)
    .option("--json", "print JSON lines instead of a table")
    .addHelpText("after", SESSIONS_HELP)
    .action(async (options: SessionsOptions) => {
      await runSessions(context, options);
    });
}

interface SessionsOptions {
  readonly end?: string;
  readonly reason?: string;
  readonly json?: true;
}

async function runSessions(
  context: CliContext,
  { end, reason, json }: SessionsOptions,
): Promise<void> {
  await withLedger(context, async (ledger) => {
    if (end === undefined) {
      const sessions = await ledger.sessions.find();
      const lines = sessions.map((session) => JSON.stringify(session)).join("\n");
      const text = json === true ? lines : tableOf(sessions);
      if (text !== "") context.stdout.write(`${text}\n`);
      return;
    }
    await endSession({ ledger, actor: actorOf(context, reason) }, end);
    context.stdout.write(`ended ${printable(end)}\n`);
  });
}

function tableOf(sessions: readonly SessionEntry[]): string {
  const rows = sessions.map(({ id, user, role, network, started_at, seen_at }) => [
    ...[id, printable(user), role, network, started_at, seen_at],
  ]);
  return formatTable([["ID", "USER", "ROLE", "NETWORK", "SINCE", "LAST SEEN"], ...rows]);
}
