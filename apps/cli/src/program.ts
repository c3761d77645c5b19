import { createRequire } from "node:module";
import tab from "@bomb.sh/tab/commander";
import { docsOf } from "@millrace/core";
import { Command, CommanderError } from "commander";
import { type CliContext, loadProject } from "./context.ts";
import { reportError } from "./report-error.ts";
import { printable } from "./terminal-text.ts";

export async function runCli(args: readonly string[], context: CliContext) {
  try {
    const program = await createProgram(context, args[0]);
    const [name = ""] = args;
    // Commander prints the help of all for a command that does not exist, and no error.
    const isKnown = name.startsWith("-") || program.commands.some((each) => each.name() === name);
    await program.parseAsync(isKnown ? args : args.slice(0, 1), { from: "user" });
    return undefined;
  } catch (error) {
    // Commander has printed the help, or what is wrong with the command line.
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return undefined;
      return { exitCode: 2, code: "invalid_request", message: error.message };
    }
    const withStack = ["debug", "trace"].includes(context.env["LOG_LEVEL"] ?? "");
    return { exitCode: 1, ...reportError(error, context.stderr, { withStack }) };
  }
}

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

Variables of the environment, and of a file .env: docs/configuration.md#environment

Exit codes: 0 success, 1 failure, 2 usage error.`;

/** In the order of `millrace --help`. A process loads the file of its own command. */
const COMMANDS = [
  { names: ["init", "providers"], load: () => import("./commands/init.ts") },
  { names: ["start"], load: () => import("./commands/start.ts") },
  { names: ["ingress", "worker", "dashboard"], load: () => import("./commands/roles.ts") },
  { names: ["open"], load: () => import("./commands/open.ts") },
  { names: ["migrate"], load: () => import("./commands/migrate.ts") },
  { names: ["send"], load: () => import("./commands/send.ts") },
  { names: ["forward"], load: () => import("./commands/forward.ts") },
  { names: ["verify"], load: () => import("./commands/verify.ts") },
  { names: ["events"], load: () => import("./commands/events.ts") },
  { names: ["errors"], load: () => import("./commands/errors.ts") },
  { names: ["retry", "replay", "give-up"], load: () => import("./commands/retry-replay.ts") },
  { names: ["sources"], load: () => import("./commands/sources.ts") },
  { names: ["runs"], load: () => import("./commands/runs.ts") },
  { names: ["pause", "resume"], load: () => import("./commands/pause.ts") },
  { names: ["audit"], load: () => import("./commands/audit.ts") },
  { names: ["doctor"], load: () => import("./commands/doctor.ts") },
  { names: ["restored", "adopt"], load: () => import("./commands/identity.ts") },
  { names: ["retention"], load: () => import("./commands/retention.ts") },
];

async function createProgram(context: CliContext, wanted: string | undefined): Promise<Command> {
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
  for (const { load } of named.length > 0 ? named : COMMANDS) {
    const { addCommands } = await load();
    addCommands(program, context);
  }
  if (wanted === "complete") await completeSources(program, context);
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

function usageError(text: string): string {
  if (!text.startsWith("error: ")) return text;
  const [first, ...rest] = text.slice("error: ".length).trimEnd().split("\n").map(printable);
  const code = "invalid_request";
  return [`millrace: ${first} (${code})`, ...rest, `See ${docsOf(code)}`, ""].join("\n");
}

function version(): string {
  const manifest = createRequire(import.meta.url)("../package.json") as { version: string };
  return manifest.version;
}

const COMPLETION_HELP = `
The script calls \`millrace\`, so \`millrace\` must be on the PATH: install it globally, or add
node_modules/.bin to the PATH.

Examples:
  $ source <(millrace completion bash)                    # in ~/.bashrc to keep it
  $ source <(millrace completion zsh)                     # in ~/.zshrc
  $ millrace completion fish > ~/.config/fish/completions/millrace.fish`;

/** Gives what takes a source the names of the project's config, where there is one. */
async function completeSources({ commands }: Command, context: CliContext): Promise<void> {
  const project = await loadProject(context).catch(() => undefined);
  const names = Object.keys(project?.config.sources ?? {});
  for (const command of commands) {
    // The sources of `init` are senders.
    if (command.name() === "init") continue;
    for (const each of [...command.registeredArguments, ...command.options]) {
      if (/^sources?$/.test(each.name())) each.argChoices = names;
    }
  }
}

function addCompletion(program: Command): void {
  tab(program, { completionCommandName: "completion" });
  const command = program.commands.find((each) => each.name() === "completion");
  command?.description("print a shell completion script").addHelpText("after", COMPLETION_HELP);
}
