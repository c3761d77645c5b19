import { Command } from "commander";
import type { CliContext } from "./context.ts";
import { environmentHelp } from "./environment-help.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addEventsCommand } from "./commands/events.ts";
import { addCompletion } from "./commands/completion.ts";
import { addInitCommand } from "./commands/init.ts";
import { addMigrateCommand } from "./commands/migrate.ts";
import { addPauseCommands } from "./commands/pause.ts";
import { addReplayCommand } from "./commands/replay.ts";
import { addRetentionCommand } from "./commands/retention.ts";
import { addRetryCommand } from "./commands/retry.ts";
import { addRoleCommands } from "./commands/roles.ts";
import { addSendCommand } from "./commands/send.ts";
import { addStartCommand } from "./commands/start.ts";
import { version } from "./version.ts";

const HELP = `
Examples:
  $ millrace init                               a config and a handler to start from
  $ millrace start                              all of it, on this machine
  $ millrace send hookmesh user.created         a signed sample event
  $ millrace events --status failed             what failed, and why
  $ millrace retry hookmesh evt_1               run a failed event again
  $ millrace replay hookmesh evt_1              run a settled event once more
  $ millrace doctor                             what is wrong, and how to mend it

${environmentHelp()}

Exit codes: 0 ok, 1 failure, 2 usage.`;

/** The `millrace` command with everything below it; it throws instead of exiting. */
export function createProgram(context: CliContext): Command {
  const program = new Command("millrace")
    .description("Takes webhooks in, exactly once.")
    .version(version(), "-v, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help of a command")
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
  addRetryCommand(program, context);
  addReplayCommand(program, context);
  addPauseCommands(program, context);
  addDoctorCommand(program, context);
  addRetentionCommand(program, context);
  addCompletion(program);
  for (const command of program.commands) {
    command.showHelpAfterError(`Try: millrace ${command.name()} --help`);
  }
  return program;
}

/** Puts commander's words into the form of all our errors. */
function usageError(text: string): string {
  if (!text.startsWith("error: ")) return text;
  const [first, ...rest] = text.slice("error: ".length).trimEnd().split("\n");
  return [`millrace: ${first} (invalid_request)`, ...rest, ""].join("\n");
}
