import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { choice } from "../parse-option.ts";
import { addRunAgainOptions, runAgain } from "./run-again-options.ts";

const HELP = `
Events get all their attempts anew. Works on DATABASE_URL and REDIS_URL, else on the start that runs
here. Ctrl-C stops after what it is just doing. Ends with 1 when it did not come to the end, or when
the one event was not retried.

Examples:
  $ millrace retry hookmesh evt_123
  $ millrace retry --source stripe --since 1h --dry-run
  $ millrace retry --type invoice.paid --rate 50
  $ millrace retry --all`;

/** `millrace retry`: failed events run again. */
export function addRetryCommand(program: Command, context: CliContext): void {
  const command = program.command("retry").description("run failed events again, one or many");
  addRunAgainOptions(command)
    .addOption(choice("--status <status>", "which goes without saying", ["failed"]))
    .addHelpText("after", HELP)
    .action(() => runAgain(command, context, "retry"));
}
