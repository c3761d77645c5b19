import { EVENT_STATUSES } from "@millrace/core";
import { Gauge, type Registry } from "prom-client";
import type { Overviews } from "./overviews.ts";

const JOB_STATES = ["waiting", "active", "delayed", "completed", "failed"] as const;

interface Deps {
  readonly readStats: Overviews["stats"];
  readonly onError: (error: unknown) => void;
}

/** Counts of events by source and status, and of jobs by source and state, read when scraped. */
export function registerMetrics(registry: Registry, { readStats, onError }: Deps): void {
  const readSources = async () => {
    try {
      return [...(await readStats())];
    } catch (error) {
      // The other metrics are worth having when Postgres is away.
      onError(error);
      return [];
    }
  };
  const events = new Gauge({
    name: "millrace_ledger_events",
    help: "Events in the ledger.",
    labelNames: ["source", "status"],
    registers: [registry],
    collect: async () => {
      events.reset();
      for (const [source, stats] of await readSources()) {
        for (const status of EVENT_STATUSES) events.set({ source, status }, stats[status]);
      }
    },
  });
  const jobs = new Gauge({
    name: "millrace_queue_jobs",
    help: "Jobs in a source's queue. Completed ones are kept for queue.keepCompletedMs.",
    labelNames: ["source", "state"],
    registers: [registry],
    collect: async () => {
      jobs.reset();
      for (const [source, stats] of await readSources()) {
        if (stats.jobs === null) continue;
        for (const state of JOB_STATES) jobs.set({ source, state }, stats.jobs[state]);
      }
    },
  });
}
