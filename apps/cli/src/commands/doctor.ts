import type { Command } from "commander";
import type { CliContext } from "../context.ts";

const HELP = `
Looks at the config and its handlers, the secrets, the roles or their ports, Postgres and the
migrations, Redis (version, eviction, AOF), the clocks and the reconciler; then compares every
pending event with its job, and every job that has ended with its event. It changes nothing: below
what is bad stands how to mend it, and beside each kind of disagreement what the workers'
reconciler will do. Works on DATABASE_URL and REDIS_URL, else on the start that runs here.

Exit codes: 0 all is well, 1 something is not, 2 it could not be told.

Examples:
  $ millrace doctor
  $ millrace doctor --json | jq .disagreements`;

/** `millrace doctor`: what is wrong, and whether ledger and queues agree. */
export function addDoctorCommand(program: Command, context: CliContext): void {
  program
    .command("doctor")
    .description("look what is wrong, and say how to mend it")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .action(async (options: { json?: true }) => {
      const { runDoctor } = await import("../doctor/run-doctor.ts");
      context.setExitCode(await runDoctor(context, { json: options.json === true }));
    });
}
