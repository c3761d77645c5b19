import { addErrorsCommand } from "./commands/errors.ts";
import { addEventsCommand } from "./commands/events.ts";
import {
  addDoctorCommand,
  addMigrateCommand,
  addPauseCommands,
  addRetentionCommand,
  addRunsCommand,
  addSessionsCommand,
} from "./commands/maintenance.ts";
import { addGiveUpCommand, addReplayCommand, addRetryCommand } from "./commands/retry-replay.ts";
import { addRoleCommands, addStartCommand } from "./commands/roles.ts";
import { addSendCommand } from "./commands/send.ts";
import { addCompletion, addInitCommand } from "./commands/setup.ts";
import type { CliContext } from "./context.ts";
import { environmentHelp } from "./environment-help.ts";
import { Command } from "commander";
import { createRequire } from "node:module";
import { z } from "zod";

const HELP = `
Examples:
  $ millrace init                               create a starter config and handler
  $ millrace start                              run everything on this machine
  $ millrace send hookmesh user.created         send a signed sample event
  $ millrace events --status failed             list failed events and their errors
  $ millrace errors                             list what went wrong, grouped
  $ millrace retry hookmesh evt_1               run a failed event again
  $ millrace replay hookmesh evt_1              run a completed event again
  $ millrace doctor                             find problems and their fixes

${environmentHelp()}

Exit codes: 0 success, 1 failure, 2 usage error.`;

/** Makes the `millrace` command with all subcommands; it throws instead of exiting. */
export function createProgram(context: CliContext): Command {
  const program = new Command("millrace")
    .description("Takes webhooks in, exactly once.")
    .version(version(), "-v, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand(false)
    .addHelpText("after", HELP)
    .showHelpAfterError("Try: millrace --help")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) => write(usageError(text)),
      getOutHelpWidth: () => context.stdout.columns ?? 100,
      getErrHelpWidth: () => context.stderr.columns ?? 100,
    });

  addInitCommand(program, context);
  addStartCommand(program, context);
  addRoleCommands(program, context);
  addMigrateCommand(program, context);
  addSendCommand(program, context);
  addEventsCommand(program, context);
  addErrorsCommand(program, context);
  addRetryCommand(program, context);
  addReplayCommand(program, context);
  addGiveUpCommand(program, context);
  addRunsCommand(program, context);
  addPauseCommands(program, context);
  addSessionsCommand(program, context);
  addDoctorCommand(program, context);
  addRetentionCommand(program, context);
  addCompletion(program);
  addHelpCommand(program);
  for (const command of program.commands) {
    command.showHelpAfterError(`Try: millrace ${command.name()} --help`);
  }
  return program;
}

/** Commander's own prints the help of all for a command that there is not, and no error. */
function addHelpCommand(program: Command): void {
  program
    .command("help")
    .description("print help for a command")
    .argument("[command]")
    .helpOption(false)
    .action((name: string | undefined) => {
      const known = program.commands.find((command) => command.name() === name);
      if (name === undefined) program.help();
      if (known === undefined) program.error(`error: unknown command '${name}'`);
      known.help();
    });
}

/** Gives commander's errors the form of all our errors. */
function usageError(text: string): string {
  if (!text.startsWith("error: ")) return text;
  const [first, ...rest] = text.slice("error: ".length).trimEnd().split("\n");
  return [`millrace: ${first} (invalid_request)`, ...rest, ""].join("\n");
}

const manifestSchema = z.object({ version: z.string() });

/** This command's version, from its package.json. */
function version(): string {
  const manifest: unknown = createRequire(import.meta.url)("../package.json");
  return manifestSchema.parse(manifest).version;
}
