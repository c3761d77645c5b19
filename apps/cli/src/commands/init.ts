import { InvalidArgumentError, Option, type Command } from "commander";
import type { CliContext } from "../context.ts";
import { STARTERS } from "../init/starters.ts";

const KNOWN = Object.keys(STARTERS);

const HALF = Math.ceil(KNOWN.length / 2);

const HELP = `
Writes millrace.config.ts, handlers.ts, a first migration and .env.example, and has git ignore secrets
and data. Nothing that is there is written over.

Senders: ${KNOWN.slice(0, HALF).join(", ")},
${KNOWN.slice(HALF).join(", ")}.

Examples:
  $ millrace init
  $ millrace init my-webhooks --source stripe,github`;

/** `millrace init`: a config and a handler to start from. */
export function addInitCommand(program: Command, context: CliContext): void {
  program
    .command("init")
    .description("write a config and a handler to start from")
    .argument("[folder]", "where to", ".")
    .addOption(
      new Option("--source <senders>", "one or more senders, with commas")
        .argParser(senders)
        .default(["stripe"], "stripe"),
    )
    .addHelpText("after", HELP)
    .action(async (folder: string, { source }: { source: readonly string[] }) => {
      const { runInit } = await import("../init/run-init.ts");
      await runInit(context, { folder, sources: source });
    });
}

function senders(text: string): readonly string[] {
  const names = [...new Set(text.split(",").map((name) => name.trim()))];
  const stranger = names.find((name) => !Object.hasOwn(STARTERS, name));
  if (stranger === undefined) return names;
  throw new InvalidArgumentError(
    `"${stranger}" is not known; it must be of ${KNOWN.join(", ")}. Any other HMAC sender is \`hmac()\` in the config.`,
  );
}
