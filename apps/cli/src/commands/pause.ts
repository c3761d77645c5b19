import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { reasonText } from "../parse-option.ts";
import type { PauseOptions } from "../pause/run-pause.ts";

const HELP = {
  pause: `
Every worker leaves the sources' events alone until \`millrace resume\`; what runs goes on, and what
comes in is kept.

Examples:
  $ millrace pause stripe --reason "the bank is down"
  $ millrace pause shop-eu shop-us
  $ millrace pause --provider shopify --dry-run`,
  resume: `
Examples:
  $ millrace resume stripe
  $ millrace resume --all`,
};

/** `millrace pause` and `millrace resume`, of one source or of many. */
export function addPauseCommands(program: Command, context: CliContext): void {
  for (const verb of ["pause", "resume"] as const) {
    const does =
      verb === "pause"
        ? "stop running the events of sources"
        : "run the events of paused sources again";
    program
      .command(verb)
      .description(does)
      .argument("[sources...]", "sources of the config")
      .option("--provider <name>", "every source of this provider, such as stripe")
      .option("--all", "every source there is")
      .option("--reason <text>", "why, for the audit", reasonText)
      .option("--dry-run", "name the sources, and change nothing")
      .addHelpText("after", HELP[verb])
      .action(async (names: string[], options: Omit<PauseOptions, "names">) => {
        const { runPause } = await import("../pause/run-pause.ts");
        await runPause(context, verb, { ...options, names });
      });
  }
}
