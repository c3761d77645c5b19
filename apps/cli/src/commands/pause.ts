import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { reasonText } from "../parse-option.ts";

const HELP = {
  pause: `
Every worker leaves the source's events alone until \`millrace resume\`; what runs goes on, and what
comes in is kept.

Example:
  $ millrace pause stripe`,
  resume: `
Example:
  $ millrace resume stripe`,
};

/** `millrace pause <source>` and `millrace resume <source>`. */
export function addPauseCommands(program: Command, context: CliContext): void {
  for (const verb of ["pause", "resume"] as const) {
    const does = verb === "pause" ? "stop running a source's events" : "run them again";
    program
      .command(verb)
      .description(does)
      .argument("<source>", "a source of the config")
      .option("--reason <text>", "why, for the audit", reasonText)
      .addHelpText("after", HELP[verb])
      .action(async (source: string, { reason }: { reason?: string }) => {
        const { runPause } = await import("../pause/run-pause.ts");
        await runPause(context, verb, { source, reason });
      });
  }
}
