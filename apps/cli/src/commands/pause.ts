import { type Config, MillraceError } from "@millrace/core";
import type { Command } from "commander";
import { type CliContext, loadProject } from "../context.ts";
import { requireSource } from "../find-source.ts";
import { reasonText } from "../parse-option.ts";
import { withOperator } from "../stores.ts";
import { createPrinter } from "../terminal-text.ts";

const VERBS = {
  pause: {
    does: "stop processing events from sources",
    help: `
Workers stop taking events from these sources until \`millrace resume\`. Running handlers finish, and
new deliveries are still accepted and stored.

Examples:
  $ millrace pause stripe --reason "the bank is down"
  $ millrace pause shop-eu shop-us`,
  },
  resume: {
    does: "process events from paused sources again",
    help: `
Examples:
  $ millrace resume stripe
  $ millrace resume --all`,
  },
};

export function addCommands(program: Command, context: CliContext): void {
  for (const verb of ["pause", "resume"] as const) {
    const { does, help } = VERBS[verb];
    program
      .command(verb)
      .description(does)
      .argument("[sources...]", "names of sources in the config")
      .option("--all", "all sources")
      .option("--reason <text>", "reason, recorded in the audit log", reasonText)
      .option("--json", "print a line of JSON for each source")
      .addHelpText("after", help)
      .action((names: string[], options: PauseOptions) => runPause(context, verb, names, options));
  }
}

interface PauseOptions {
  readonly all?: true;
  readonly reason?: string;
  readonly json?: true;
}

async function runPause(
  context: CliContext,
  verb: "pause" | "resume",
  names: readonly string[],
  options: PauseOptions,
): Promise<void> {
  const { config } = await loadProject(context);
  const sources = chooseSources(config, names, options);
  const print = createPrinter(context, options.json);
  await withOperator(context, options.reason, async (operator) => {
    for (const source of sources) {
      const paused = verb === "pause";
      await operator.setPaused(source, paused);
      print({ json: { source, paused }, text: `${verb}d ${source}` });
    }
  });
}

function chooseSources(config: Config, names: readonly string[], { all }: PauseOptions) {
  for (const name of names) requireSource(config, name, "find");
  const known = Object.keys(config.sources);
  const chosen = all === true ? known : [...new Set(names)];
  if (chosen.length > 0) return chosen;
  throw new MillraceError(
    "invalid_request",
    `Cannot choose sources: name them (${known.join(", ")}), or give --all`,
  );
}
