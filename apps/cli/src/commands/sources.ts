import { stats } from "@millrace/operations";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { withStores } from "../stores.ts";
import { writeList } from "../terminal-text.ts";

const HELP = `
Refused deliveries are those of the last 15 minutes.

Examples:
  $ millrace sources
  $ millrace sources --json`;

const REFUSED_MINUTES = 15;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("sources")
    .description("list the sources of the config with their events and jobs")
    .option("--json", "print JSON lines instead of a table")
    .addHelpText("after", HELP)
    .action(({ json }: { readonly json?: true }) => listSources(context, json));
}

async function listSources(context: CliContext, json: true | undefined): Promise<void> {
  const sources = await withStores(context, async ({ ledger: { reads }, queues }, config) => {
    const findRefusals = () => reads.findRefusals(REFUSED_MINUTES);
    const found = await stats({ ledger: { reads: { ...reads, findRefusals } }, queues });
    return [...found].map(([source, { refused, jobs, ...events }]) => {
      const provider = config.sources[source]?.provider;
      const paused = jobs?.paused ?? null;
      const verified = provider === undefined ? null : provider.authenticatedOnly !== true;
      return { source, provider: provider?.name ?? null, verified, paused, ...events, refused };
    });
  });
  writeList(context, sources, {
    json,
    none: "The config has no source.",
    heads: ["SOURCE", "PROVIDER", "STATE", "QUEUED", "PENDING", "FAILED", "COMPLETED", "REFUSED"],
    rowOf: ({ source, provider, paused, queued, pending, failed, completed, refused }) => [
      ...[source, provider ?? "not in the config"],
      paused === null ? "unknown" : paused ? "paused" : "running",
      ...[queued ?? "unknown", pending, failed, completed].map(String),
      String(refused.reduce((sum, { deliveries }) => sum + deliveries, 0)),
    ],
  });
}
