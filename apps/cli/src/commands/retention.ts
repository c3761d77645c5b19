import type { Command } from "commander";
import type { CliContext } from "../context.ts";

const HELP = `
Workers do this by themselves, every hour. What is kept, and for how long, stands under \`retention\` in
the config; the database's clock decides. What is pending or failed is never dropped or deleted. Ctrl-C
stops after what it is just doing, and the next run goes on from there. Ends with 1 when it did not come
to the end, or while a worker is at it.

Examples:
  $ millrace retention --dry-run                what would go, and how much
  $ millrace retention
  $ millrace retention --json`;

/** `millrace retention`: lets go of what is older than it is kept. */
export function addRetentionCommand(program: Command, context: CliContext): void {
  program
    .command("retention")
    .description("drop old bodies and forget old events, now")
    .option("--dry-run", "say what would be done, and change nothing")
    .option("--json", "the outcome as JSON")
    .addHelpText("after", HELP)
    .action(async ({ dryRun, json }: { dryRun?: true; json?: true }) => {
      const { runRetentionCommand } = await import("../retention/run-retention.ts");
      const options = { dryRun: dryRun === true, json: json === true };
      context.setExitCode(await runRetentionCommand(context, options));
    });
}
