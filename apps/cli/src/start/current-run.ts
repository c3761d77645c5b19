import { readUrl } from "@millrace/core";
import { reasonOf } from "@millrace/service";
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

const READY_MS_MAX = 3_000;

/** The readiness of each process of a run, in words. */
export async function readStates({ ingress_url: url, processes }: Run) {
  const { hostname } = new URL(url);
  return await Promise.all(
    processes.map(async ({ name, port }) => {
      return { name, state: await readiness(`http://${hostname}:${port}/readyz`) };
    }),
  );
}

async function readiness(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(READY_MS_MAX) });
    const { status = "not ready" } = (await response.json()) as { readonly status?: string };
    return response.ok ? status : "not ready";
  } catch (error) {
    return `does not answer (${reasonOf(error)})`;
  }
}

interface SummaryOptions {
  readonly sources: readonly string[];
  /** The arguments of `millrace send` for the first source's sample. */
  readonly sample: string;
  readonly isEmbedded: boolean;
  readonly dataDir: string;
  readonly dashboardUser: string | undefined;
}

export function startSummary(run: Run, options: SummaryOptions) {
  const { ingress_url, dashboard_url, database_url, redis_url, processes } = run;
  const { sources, sample, isEmbedded, dataDir, dashboardUser } = options;
  const workers = processes.filter(({ name }) => name.startsWith("worker")).length;
  const queue = redis_url === undefined ? "Postgres" : "Redis";
  const { hostname, port, pathname, username } = readUrl(database_url) ?? new URL(database_url);
  const ledger = isEmbedded
    ? `Embedded Postgres on port ${port}; its URL is in ${dataDir}/run.json`
    : `Postgres at ${hostname}:${port || "5432"}${pathname}`;
  const text = [
    "",
    `Millrace runs, with ${workers} ${workers === 1 ? "worker" : "workers"}.`,
    "",
    `  webhooks   ${ingress_url}/webhooks/<source>`,
    `  sources    ${sources.join(", ")}`,
    `  dashboard  ${dashboard_url}`,
    `  queues     ${dashboard_url}/queues, on ${queue}`,
    `  ledger     ${ledger}`,
    "",
    "Try, in another terminal:",
    "",
    `  npx millrace send ${sample}`,
    "  npx millrace events",
    "",
    "Ctrl-C stops all of it.",
    "",
  ].join("\n");
  const database = { host: hostname, port: Number(port || "5432"), login: username };
  const json = {
    ...{ ingress_url, dashboard_url, dashboard_user: dashboardUser ?? null, sources, processes },
    ...{ queue: queue.toLowerCase(), data_dir: dataDir },
    database: { ...database, name: pathname.slice(1), embedded: isEmbedded },
  };
  return { json, text };
}
