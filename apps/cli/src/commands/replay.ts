import { OUTCOMES } from "@millrace/core";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { choice } from "../parse-option.ts";
import { addRunAgainOptions, runAgain } from "./run-again-options.ts";

const SETTLED = ["completed", "failed"] as const;

const HELP = `
A replay runs the handlers on the same body once more, as a new generation of the event, also where
they did their work before: what they write, they write again. The old run stays as it was recorded.
Ctrl-C stops after what it is just doing. Ends with 1 when it did not come to the end, or when the one
event was not replayed.

Examples:
  $ millrace replay hookmesh evt_123
  $ millrace replay --source github --outcome suspected_replay --dry-run
  $ millrace replay --type order.paid --since 2d --until 1d --rate 20`;

/** `millrace replay`: settled events run again, as a new generation. */
export function addReplayCommand(program: Command, context: CliContext): void {
  const command = program.command("replay").description("run settled events once more");
  addRunAgainOptions(command)
    .addOption(choice("--status <status>", "of this status", SETTLED))
    .addOption(choice("--outcome <outcome>", "of this outcome", OUTCOMES))
    .addHelpText("after", HELP)
    .action(() => runAgain(command, context, "replay"));
}
