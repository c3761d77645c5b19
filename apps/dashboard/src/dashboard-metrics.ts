import { EVENT_STATUSES } from "@millrace/core";
import { Gauge, type Registry } from "prom-client";
import type { Overviews } from "./overviews.ts";

const JOB_STATES = ["waiting", "active", "delayed", "completed", "failed"] as const;

interface Deps {
  readonly readStats: Overviews["stats"];
  readonly onError: (error: unknown) => void;
}

/** Counts of events by source and status, and of jobs by source and state, read when scraped. */
export function registerMetrics(registry: Registry, deps: Deps): void {
  const collect = async (fill: (sources: Awaited<ReturnType<Overviews["stats"]>>) => void) => {
    try {
      fill(await deps.readStats());
    } catch (error) {
      // The other metrics are worth having when Postgres is away.
      deps.onError(error);
    }
  };
  const events = new Gauge({
    name: "millrace_ledger_events",
    help: "Events in the ledger.",
    labelNames: ["source", "status"],
    registers: [registry],
    collect: async () => {
      events.reset();
      await collect((sources) => {
        for (const [source, of] of sources) {
          for (const status of EVENT_STATUSES) events.set({ source, status }, of[status]);
        }
      });
    },
  });
  const jobs = new Gauge({
    name: "millrace_queue_jobs",
    help: "Jobs in a source's queue. Completed ones are kept for queue.keepCompletedMs.",
    labelNames: ["source", "state"],
    registers: [registry],
    collect: async () => {
      jobs.reset();
      await collect((sources) => {
        for (const [source, { jobs: of }] of sources) {
          if (of === null) continue;
          for (const state of JOB_STATES) jobs.set({ source, state }, of[state]);
        }
      });
    },
  });
}
