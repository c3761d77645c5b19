import type { Run } from "../run-file.ts";
import type { RunningProcess } from "./supervisor.ts";

export interface RunFacts {
  /** Where the roles listen. */
  readonly host: string;
  readonly startedAt: string;
  readonly MILLRACE_CONFIG: string;
  readonly DATABASE_URL: string;
  readonly REDIS_URL: string | undefined;
}

/** Describes this process and its children, as `run.json` has it. */
export function currentRun(processes: readonly RunningProcess[], facts: RunFacts): Run {
  const url = (name: string) => {
    const port = processes.find((process) => process.name === name)?.port ?? 0;
    return `http://${reachable(facts.host)}:${port}`;
  };
  return {
    pid: process.pid,
    started_at: facts.startedAt,
    config: facts.MILLRACE_CONFIG,
    ingress_url: url("ingress"),
    dashboard_url: url("dashboard"),
    database_url: facts.DATABASE_URL,
    ...(facts.REDIS_URL === undefined ? {} : { redis_url: facts.REDIS_URL }),
    processes: [...processes],
  };
}

/** Where this machine reaches what listens on a host. */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
