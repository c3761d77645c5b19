import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { wholeNumber } from "../parse-option.ts";

const HELP = `
Without DATABASE_URL it runs a Postgres of its own, with its data in .millrace. Without REDIS_URL
the queue is on that Postgres too. Sources without a secret get one, kept in .millrace/secrets.json.
Ports that are taken are passed over for the next free ones.

Ctrl-C stops all of it in good order; a second Ctrl-C at once.

Examples:
  $ millrace start
  $ REDIS_URL=redis://127.0.0.1:6379 millrace start --workers 4`;

/** `millrace start`: the ingress, the workers and the dashboard, and a Postgres if need be. */
export function addStartCommand(program: Command, context: CliContext): void {
  program
    .command("start")
    .description("run all of it on this machine")
    .option("--workers <n>", "worker processes", wholeNumber({ min: 1, max: 64 }), 2)
    .addHelpText("after", HELP)
    .action(async (options: { workers: number }) => {
      const { runStart } = await import("../start/run-start.ts");
      await runStart(context, options);
    });
}
