import tab from "@bomb.sh/tab/commander";
import type { CliContext } from "../context.ts";
import { STARTERS } from "../init/starters.ts";
import { type Command, InvalidArgumentError, Option } from "commander";

const KNOWN = Object.keys(STARTERS);

const HALF = Math.ceil(KNOWN.length / 2);

const INIT_HELP = `
Writes millrace.config.ts, handlers.ts, a first migration, and .env.example, and adds secrets and data
to .gitignore. Existing files are never overwritten.

Senders: ${KNOWN.slice(0, HALF).join(", ")},
${KNOWN.slice(HALF).join(", ")}.

Examples:
  $ millrace init
  $ millrace init my-webhooks --source stripe,github
  $ millrace init my-webhooks --docker`;

interface InitFlags {
  readonly source: readonly string[];
  readonly docker?: true;
}

/** `millrace init`: writes a starter config and handler. */
export function addInitCommand(program: Command, context: CliContext): void {
  program
    .command("init")
    .description("create a starter config and handler")
    .argument("[folder]", "where to write them", ".")
    .addOption(
      new Option("--source <senders>", "one or more senders, separated by commas")
        .argParser(senders)
        .default(["stripe"], "stripe"),
    )
    .option("--docker", "write a Dockerfile too, for an image that installs the package")
    .addHelpText("after", INIT_HELP)
    .action(async (folder: string, { source, docker }: InitFlags) => {
      const { runInit } = await import("../init/run-init.ts");
      await runInit(context, { folder, sources: source, docker: docker === true });
    });
}

function senders(text: string): readonly string[] {
  const names = [...new Set(text.split(",").map((name) => name.trim()))];
  const stranger = names.find((name) => !Object.hasOwn(STARTERS, name));
  if (stranger === undefined) return names;
  throw new InvalidArgumentError(
    `"${stranger}" is not known. Known senders: ${KNOWN.join(", ")}. For any other HMAC-signed sender, use \`hmac()\` in the config.`,
  );
}

const COMPLETION_HELP = `
The script calls \`millrace\`, so \`millrace\` must be on the PATH: install it globally, or add
node_modules/.bin to the PATH.

Examples:
  $ source <(millrace completion bash)                    # in ~/.bashrc to keep it
  $ source <(millrace completion zsh)                     # in ~/.zshrc
  $ millrace completion fish > ~/.config/fish/completions/millrace.fish`;

/** `millrace completion <shell>`: completes commands, options, and their values. */
export function addCompletion(program: Command): void {
  tab(program, { completionCommandName: "completion" });
  const command = program.commands.find((each) => each.name() === "completion");
  command?.description("print a shell completion script").addHelpText("after", COMPLETION_HELP);
}
