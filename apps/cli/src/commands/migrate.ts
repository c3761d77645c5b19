import type { Command } from "commander";
import type { CliContext } from "../context.ts";

const HELP = `
Applies what is missing of Millrace's migrations, then of the folder that the config names as
"migrations", then BullMQ's own where REDIS_URL is not set. Run it once a deployment, before the
roles; several at once wait for one another. Works on DATABASE_URL, else on the running start.

Examples:
  $ DATABASE_URL=postgres://127.0.0.1/app millrace migrate
  $ millrace migrate --check                    fails when something is missing`;

/** `millrace migrate`: the database's tables, ours and the user's. */
export function addMigrateCommand(program: Command, context: CliContext): void {
  program
    .command("migrate")
    .description("bring the database's tables up to date")
    .option("--check", "only say whether they are")
    .addHelpText("after", HELP)
    .action(async (options: { check?: true }) => {
      const { runMigrate } = await import("../migrate/run-migrate.ts");
      await runMigrate(context, { check: options.check === true });
    });
}
