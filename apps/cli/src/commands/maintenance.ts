import type { CliContext } from "../context.ts";
import { positiveNumber, reasonText, wholeNumber } from "../parse-option.ts";
import type { PauseOptions } from "../pause.ts";
import type { SessionsOptions } from "../sessions.ts";
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
    .option("--check", "only report whether migrations are pending")
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

const SESSIONS_HELP = `
A session that is ended is refused by every dashboard within ten seconds. To end all sessions of a user
for good, change the password.

Examples:
  $ millrace sessions
  $ millrace sessions --end Yk3vQ2... --reason "the laptop was lost"`;

/** `millrace sessions`: lists who is signed in to the dashboard, and ends a session. */
export function addSessionsCommand(program: Command, context: CliContext): void {
  program
    .command("sessions")
    .description("list who is signed in to the dashboard, or end a session")
    .option("--end <id>", "end this session")
    .option("--reason <text>", "reason, recorded in the audit log", reasonText)
    .option("--json", "print JSON lines instead of a table")
    .addHelpText("after", SESSIONS_HELP)
    .action(async (options: SessionsOptions) => {
      const { runSessions } = await import("../sessions.ts");
      await runSessions(context, options);
    });
}

const RUNS_HELP = `
\`millrace retry\`, \`replay\`, and \`give-up\` with a filter start a bulk run. A worker works it off, also after
another one that has died. A change takes effect within a second. What is done stays done.

Examples:
  $ millrace runs
  $ millrace runs 12                            watch a run
  $ millrace runs pause 12 --reason "the shop is slow"
  $ millrace runs rate 12 5                     5 events per second
  $ millrace runs stop 12`;

/** `millrace runs`: lists bulk runs, watches one, and changes one. */
export function addRunsCommand(program: Command, context: CliContext): void {
  const runs = program
    .command("runs")
    .description("list bulk runs, watch one, or pause, resume, slow down, or stop it")
    .argument("[id]", "watch this run", runId)
    .option(
      "--limit <n>",
      "maximum number of runs, newest first",
      wholeNumber({ min: 1, max: 200 }),
      20,
    )
    .option("--json", "print JSON lines instead of a table")
    .addHelpText("after", RUNS_HELP)
    .action(async (id: number | undefined, options: { limit: number; json?: true }) => {
      const { listRuns, watchOne } = await import("../runs/runs.ts");
      if (id === undefined) await listRuns(context, options);
      else context.setExitCode(await watchOne(context, id, options.json === true));
    });
  for (const [verb, state] of Object.entries({
    pause: "paused",
    resume: "running",
    stop: "stopped",
  } as const)) {
    runs
      .command(verb)
      .description(`${verb} a bulk run`)
      .argument("<id>", "the run", runId)
      .option("--reason <text>", "reason, recorded in the audit log", reasonText)
      .option("--json", "print the run as JSON")
      .action(async (id: number, _own: ChangeOptions, command: Command) => {
        const { changeRun } = await import("../runs/runs.ts");
        await changeRun(context, id, { state }, command.optsWithGlobals<ChangeOptions>());
      });
  }
  runs
    .command("rate")
    .description("change how many events per second a bulk run reaches")
    .argument("<id>", "the run", runId)
    .argument("<n>", "events per second", positiveNumber)
    .option("--reason <text>", "reason, recorded in the audit log", reasonText)
    .option("--json", "print the run as JSON")
    .action(async (id: number, rate: number, _own: ChangeOptions, command: Command) => {
      const { changeRun } = await import("../runs/runs.ts");
      await changeRun(context, id, { rate }, command.optsWithGlobals<ChangeOptions>());
    });
}

// `runs --json` takes the flag from those that follow it.
interface ChangeOptions {
  readonly reason?: string;
  readonly json?: true;
}

const runId = wholeNumber({ min: 1, max: 999_999_999_999 });

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
Checks the config and its handlers, secrets, the roles or their ports, Postgres (version, settings,
connections, standbys, migrations, rights of the logins), Redis (version, eviction policy, AOF),
clocks, and the reconciler. Then it compares every pending event with its job, and every finished job
with its event. It changes nothing: each problem comes with its fix, and each kind of disagreement
with what the workers' reconciler does about it. Uses DATABASE_URL and REDIS_URL, or the running
\`millrace start\`.

Exit codes: 0 no problem found, 1 a problem found (BAD), 2 no problem found, but the check could not
finish (?).

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
