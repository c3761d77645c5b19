import { endSession } from "@millrace/operations";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { reasonText } from "../parse-option.ts";
import { actorOf, withLedger } from "../stores.ts";
import { printable, writeList } from "../terminal-text.ts";

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
    .action((options: SessionsOptions) => runSessions(context, options));
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
      writeList(context, await ledger.sessions.find(), {
        json,
        none: "Nobody is signed in.",
        heads: ["ID", "USER", "ROLE", "NETWORK", "SINCE", "LAST SEEN"],
        rowOf: ({ id, user, role, network, started_at, seen_at }) => [
          ...[id, printable(user), role, network, started_at, seen_at],
        ],
      });
      return;
    }
    await endSession({ ledger, actor: actorOf(context, reason) }, end);
    const line = json === true ? JSON.stringify({ ended: end }) : `ended ${printable(end)}`;
    context.stdout.write(`${line}\n`);
  });
}
