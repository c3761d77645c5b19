import { ERROR_STATES, type ErrorState } from "@millrace/api-contract";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { choice, reasonText, wholeNumber } from "../parse-option.ts";

interface Options {
  readonly state?: ErrorState;
  readonly source?: string;
  readonly type?: string;
  readonly q?: string;
  readonly limit: number;
  readonly resolve?: true;
  readonly ignore?: true;
  readonly reopen?: true;
  readonly note?: string;
  readonly reason?: string;
  readonly json?: true;
}

const HELP = `
Failed attempts with the same error are one line: what varies in their texts, such as ids and numbers,
does not count. The beginning of a fingerprint names an error. A resolved error that comes back is open
again; an ignored one stays ignored.

Examples:
  $ millrace errors                                   open errors, last seen first
  $ millrace errors --state resolved --source stripe
  $ millrace errors 1-4f3a                            shows one, and how to retry its events
  $ millrace errors 1-4f3a --resolve --note "fixed in 2.4.1"
  $ millrace retry --error 1-4f3a9c01d2e47b60`;

/** `millrace errors`: lists groups of equal errors, shows one, or sets the state of one. */
export function addErrorsCommand(program: Command, context: CliContext): void {
  const command = program
    .command("errors")
    .description("list errors of handlers, grouped, or show or resolve one")
    .argument("[fingerprint]", "the beginning of an error's fingerprint, to show it")
    .addOption(choice("--state <state>", "errors in this state (default: open)", ERROR_STATES))
    .option("--source <source>", "errors seen in this source")
    .option("--type <type>", "errors seen with this event type")
    .option("--q <text>", "errors whose text contains this")
    .option("--limit <n>", "maximum number of errors", wholeNumber({ min: 1, max: 10_000 }), 50)
    .option("--resolve", "set the error to resolved")
    .option("--ignore", "set the error to ignored")
    .option("--reopen", "set the error to open")
    .option("--note <text>", "note for the next person who looks at the error", reasonText)
    .option("--reason <text>", "reason, recorded in the audit log", reasonText)
    .option("--json", "print JSON lines instead of text")
    .addHelpText("after", HELP);
  command.action(async (fingerprint: string | undefined, options: Options) => {
    const { resolve, ignore, reopen, note, reason, state, source, type, q, limit, json } = options;
    const asked = [resolve && "resolved", ignore && "ignored", reopen && "open"] as const;
    const [set, other] = asked.filter((one) => one !== undefined);
    if (other !== undefined) command.error("error: give one of --resolve, --ignore, --reopen");
    if (fingerprint === undefined && set !== undefined) {
      command.error("error: which error? Give its fingerprint, as `millrace errors` prints it");
    }
    const filter = { source, type, q, state };
    if (fingerprint !== undefined && Object.values(filter).some((one) => one !== undefined)) {
      command.error("error: one error takes no filter: remove its fingerprint, or the options");
    }
    if (set === undefined && (note ?? reason) !== undefined) {
      command.error("error: a note or a reason needs --resolve, --ignore or --reopen");
    }
    const { runErrors } = await import("../errors.ts");
    await runErrors(context, {
      ...{ fingerprint, set, note, reason, limit, json: json === true },
      ...{ ...filter, state: fingerprint === undefined ? (state ?? "open") : undefined },
    });
  });
}
