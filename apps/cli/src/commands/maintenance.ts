import type { CliContext } from "../context.ts";
import { reasonText } from "../parse-option.ts";
import type { PauseOptions } from "../pause.ts";
import type { Command } from "commander";

const MIGRATE_HELP = `
Applies pending migrations: Millrace's own, then the folder that the config names as "migrations",
then BullMQ's tables if REDIS_URL is not set. Run it once per deployment, before the roles start.
Concurrent runs wait for each other. Uses DATABASE_URL, or the database of the running
\`millrace start\`.

Examples:
  $ DATABASE_URL=postgres://127.0.0.1/app millrace migrate
  $ millrace migrate --check                    exits with 1 if a migration is pending`;

/** `millrace migrate`: applies Millrace's migrations and the user's. */
export function addMigrateCommand(program: Command, context: CliContext): void {
  program
    .command("migrate")
    .description("apply pending database migrations")
    .option("--check", "only report whether they are")
    .addHelpText("after", MIGRATE_HELP)
    .action(async (options: { check?: true }) => {
      const { runMigrate } = await import("../migrate.ts");
      await runMigrate(context, { check: options.check === true });
    });
}

const PAUSE_HELP = {
  pause: `
Workers stop taking events from these sources until \`millrace resume\`. Running handlers finish, and
new deliveries are still accepted and stored.

Examples:
  $ millrace pause stripe --reason "the bank is down"
  $ millrace pause shop-eu shop-us
  $ millrace pause --provider shopify --dry-run`,
  resume: `
Examples:
  $ millrace resume stripe
  $ millrace resume --all`,
};

/** `millrace pause` and `millrace resume`, for one or more sources. */
export function addPauseCommands(program: Command, context: CliContext): void {
  for (const verb of ["pause", "resume"] as const) {
    const does =
      verb === "pause"
        ? "stop processing events from sources"
        : "process events from paused sources again";
    program
      .command(verb)
      .description(does)
      .argument("[sources...]", "names of sources in the config")
      .option("--provider <name>", "all sources of this provider, such as stripe")
      .option("--all", "all sources")
      .option("--reason <text>", "reason, recorded in the audit log", reasonText)
      .option("--dry-run", "list the sources without changing anything")
      .addHelpText("after", PAUSE_HELP[verb])
      .action(async (names: string[], options: Omit<PauseOptions, "names">) => {
        const { runPause } = await import("../pause.ts");
        await runPause(context, verb, { ...options, names });
      });
  }
}

const RETENTION_HELP = `
Workers do this automatically, every hour. The config's \`retention\` settings say how long data is
kept, by the database's clock. Pending and failed events are never dropped or deleted. Ctrl-C stops
after the current step, and the next run continues from there. Exits with 1 if it did not finish, or
if a worker is running retention.

Examples:
  $ millrace retention --dry-run                shows what would be removed, and how much
  $ millrace retention
  $ millrace retention --json`;

/** `millrace retention`: removes data that is older than its retention period. */
export function addRetentionCommand(program: Command, context: CliContext): void {
  program
    .command("retention")
    .description("drop old bodies and delete old events now")
    .option("--dry-run", "show what would be removed without changing anything")
    .option("--json", "print the result as JSON")
    .addHelpText("after", RETENTION_HELP)
    .action(async ({ dryRun, json }: { dryRun?: true; json?: true }) => {
      const { runRetentionCommand } = await import("../retention/run-retention.ts");
      const options = { dryRun: dryRun === true, json: json === true };
      context.setExitCode(await runRetentionCommand(context, options));
    });
}

const DOCTOR_HELP = `
Checks the config and its handlers, secrets, the roles or their ports, Postgres and migrations, Redis
(version, eviction policy, AOF), clocks, and the reconciler. Then it compares every pending event with
its job, and every finished job with its event. It changes nothing: each problem comes with its fix,
and each kind of disagreement with what the workers' reconciler does about it. Uses DATABASE_URL and
REDIS_URL, or the running \`millrace start\`.

Exit codes: 0 no problem found, 1 a problem found, 2 the check could not finish.

Examples:
  $ millrace doctor
  $ millrace doctor --json | jq .disagreements`;

/** `millrace doctor`: finds problems, and compares the ledger with the queues. */
export function addDoctorCommand(program: Command, context: CliContext): void {
  program
    .command("doctor")
    .description("find problems and say how to fix them")
    .option("--json", "print the report as JSON")
    .addHelpText("after", DOCTOR_HELP)
    .action(async (options: { json?: true }) => {
      const { runDoctor } = await import("../doctor/run-doctor.ts");
      context.setExitCode(await runDoctor(context, { json: options.json === true }));
    });
}
