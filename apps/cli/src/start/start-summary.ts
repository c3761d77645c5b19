import type { Run } from "../run-file.ts";

/** What the summary tells besides the run itself. */
export interface SummaryOptions {
  readonly sources: readonly string[];
  /** A type that the first source's provider has a sample of. */
  readonly sampleType: string | undefined;
  readonly isEmbedded: boolean;
  /** The data folder as the user knows it. */
  readonly dataDir: string;
}

/** The few lines that `millrace start` greets with. */
export function startSummary(run: Run, options: SummaryOptions): string {
  const [first = ""] = options.sources;
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
    `  npx millrace send ${[first, options.sampleType].filter(Boolean).join(" ")}`,
    "  npx millrace events",
    "",
    "Ctrl-C stops all of it.",
    "",
    "",
  ].join("\n");
}

function ledger(run: Run, { isEmbedded, dataDir }: SummaryOptions): string {
  const { port, hostname, pathname } = new URL(run.database_url);
  if (!isEmbedded) return `Postgres at ${hostname}:${port || "5432"}${pathname}`;
  return `Embedded Postgres on port ${port}; its URL is in ${dataDir}/run.json`;
}
