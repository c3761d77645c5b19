import { readUrl } from "@millrace/core";
import { removeRun, type Run, writeRun } from "../data-folder.ts";

type RunFacts = Omit<Run, "ingress_url" | "dashboard_url" | "processes">;

export function currentRun(processes: Run["processes"], host: string, facts: RunFacts): Run {
  const url = (name: string) => {
    const port = processes.find((process) => process.name === name)?.port ?? 0;
    return `http://${reachable(host)}:${port}`;
  };
  return { ...facts, ingress_url: url("ingress"), dashboard_url: url("dashboard"), processes };
}

function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

export function createRunKeeper(dataDir: string, current: () => Run) {
  // One after the other, so that an older state never lands on a newer one.
  let last: Promise<void> = Promise.resolve();
  let removed = false;
  return {
    update(): void {
      if (removed) return;
      // A full disk must not end what runs; other commands then do without the file.
      last = last.then(() => writeRun(dataDir, current())).catch(() => {});
    },
    async remove(): Promise<void> {
      removed = true;
      await last;
      await removeRun(dataDir);
    },
  };
}

interface SummaryOptions {
  readonly sources: readonly string[];
  /** The arguments of `millrace send` for the first source's sample. */
  readonly sample: string;
  readonly isEmbedded: boolean;
  readonly dataDir: string;
}

export function startSummary(run: Run, options: SummaryOptions): string {
  const workers = run.processes.filter(({ name }) => name.startsWith("worker")).length;
  return [
    "",
    `Millrace runs, with ${workers} ${workers === 1 ? "worker" : "workers"}.`,
    "",
    `  webhooks   ${run.ingress_url}/webhooks/<source>`,
    `  sources    ${options.sources.join(", ")}`,
    `  dashboard  ${run.dashboard_url}`,
    `  queues     ${run.dashboard_url}/queues, on ${run.redis_url === undefined ? "Postgres" : "Redis"}`,
    `  ledger     ${ledger(run, options)}`,
    "",
    "Try, in another terminal:",
    "",
    `  npx millrace send ${options.sample}`,
    "  npx millrace events",
    "",
    "Ctrl-C stops all of it.",
    "",
    "",
  ].join("\n");
}

function ledger(run: Run, { isEmbedded, dataDir }: SummaryOptions): string {
  const { port, hostname, pathname } = readUrl(run.database_url) ?? new URL(run.database_url);
  if (!isEmbedded) return `Postgres at ${hostname}:${port || "5432"}${pathname}`;
  return `Embedded Postgres on port ${port}; its URL is in ${dataDir}/run.json`;
}
