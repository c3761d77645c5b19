import type { Command } from "commander";
import type { CliContext } from "../context.ts";

const HELP = `
Looks at Postgres, the queue and the reconciler, and compares every pending event with its job, and
every job that has ended with its event. It changes nothing: what the workers' reconciler will do
stands beside each kind. Works on DATABASE_URL and REDIS_URL, else on the start that runs here.

Exit codes: 0 all is well, 1 something is not, 2 it could not be told.

Examples:
  $ millrace doctor
  $ millrace doctor --json | jq .disagreements`;

/** `millrace doctor`: whether ledger and queues agree. */
export function addDoctorCommand(program: Command, context: CliContext): void {
  program
    .command("doctor")
    .description("look whether ledger and queues agree")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .action(async (options: { json?: true }) => {
      const { runDoctor } = await import("../doctor/run-doctor.ts");
      context.setExitCode(await runDoctor(context, { json: options.json === true }));
    });
}
