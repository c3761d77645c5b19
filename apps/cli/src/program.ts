import { createRequire } from "node:module";
import tab from "@bomb.sh/tab/commander";
import { Command } from "commander";
import { z } from "zod";
import type { CliContext } from "./context.ts";
import { environmentHelp } from "./environment-help.ts";

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

type AddCommand = (program: Command, context: CliContext) => Promise<void>;

/** The commands, in the order of `millrace --help`. A process loads the file of its own command. */
const COMMANDS: readonly { readonly names: readonly string[]; readonly add: AddCommand }[] = [
  {
    names: ["init"],
    add: async (...to) => (await import("./commands/init.ts")).addInitCommand(...to),
  },
  {
    names: ["start"],
    add: async (...to) => (await import("./commands/start.ts")).addStartCommand(...to),
  },
  {
    names: ["ingress", "worker", "dashboard"],
    add: async (...to) => (await import("./commands/roles.ts")).addRoleCommands(...to),
  },
  {
    names: ["migrate"],
    add: async (...to) => (await import("./commands/migrate.ts")).addMigrateCommand(...to),
  },
  {
    names: ["send"],
    add: async (...to) => (await import("./commands/send.ts")).addSendCommand(...to),
  },
  {
    names: ["events"],
    add: async (...to) => (await import("./commands/events.ts")).addEventsCommand(...to),
  },
  {
    names: ["errors"],
    add: async (...to) => (await import("./commands/errors.ts")).addErrorsCommand(...to),
  },
  {
    names: ["retry", "replay", "give-up"],
    add: async (...to) => (await import("./commands/retry-replay.ts")).addVerbCommands(...to),
  },
  {
    names: ["runs"],
    add: async (...to) => (await import("./commands/runs.ts")).addRunsCommand(...to),
  },
  {
    names: ["pause", "resume"],
    add: async (...to) => (await import("./commands/pause.ts")).addPauseCommands(...to),
  },
  {
    names: ["sessions"],
    add: async (...to) => (await import("./commands/sessions.ts")).addSessionsCommand(...to),
  },
  {
    names: ["doctor"],
    add: async (...to) => (await import("./commands/doctor.ts")).addDoctorCommand(...to),
  },
  {
    names: ["retention"],
    add: async (...to) => (await import("./commands/retention.ts")).addRetentionCommand(...to),
  },
];

/**
 * Creates the `millrace` command with the subcommand `wanted`, or with all of them where no
 * subcommand has this name; it throws instead of exiting.
 */
export async function createProgram(
  context: CliContext,
  wanted: string | undefined,
): Promise<Command> {
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

  const named = COMMANDS.filter(({ names }) => wanted !== undefined && names.includes(wanted));
  for (const { add } of named.length > 0 ? named : COMMANDS) await add(program, context);
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

const COMPLETION_HELP = `
The script calls \`millrace\`, so \`millrace\` must be on the PATH: install it globally, or add
node_modules/.bin to the PATH.

Examples:
  $ source <(millrace completion bash)                    # in ~/.bashrc to keep it
  $ source <(millrace completion zsh)                     # in ~/.zshrc
  $ millrace completion fish > ~/.config/fish/completions/millrace.fish`;

/** `millrace completion <shell>`: completes commands, options, and their values. */
function addCompletion(program: Command): void {
  tab(program, { completionCommandName: "completion" });
  const command = program.commands.find((each) => each.name() === "completion");
  command?.description("print a shell completion script").addHelpText("after", COMPLETION_HELP);
}
