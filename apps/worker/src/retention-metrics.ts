import type { RetentionNotice, RetentionResult } from "@millrace/operations";
import { Counter, Gauge, type Registry } from "prom-client";

/** What the retention does, in numbers. */
export interface RetentionMetrics {
  observe(notice: RetentionNotice): void;
  observeResult(result: RetentionResult): void;
  observeFailure(): void;
}

/** Registers the retention's metrics. Of several workers only the one that ran it last counts anything. */
export function createRetentionMetrics(registry: Registry): RetentionMetrics {
  const registers = [registry];
  const counter = (name: string, help: string) =>
    new Counter({ name: `millrace_retention_${name}_total`, help, registers });
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `millrace_retention_${name}_seconds`, help, registers });
  const dropped = counter("partitions_dropped", "Days of bodies that were dropped.");
  const moved = counter("bodies_moved", "Bodies of events not completed that were moved on.");
  const archived = counter("events_archived", "Events that were written to an archive.");
  const deleted = counter("keys_deleted", "Completed events that were forgotten.");
  const failures = counter("failures", "Runs that failed.");
  const lastSuccess = gauge(
    "last_success",
    "When this process last ran it to its end, in Unix time.",
  );
  const oldest = gauge(
    "oldest_bodies",
    "The beginning of the oldest day whose bodies are there, in Unix time, at the last run.",
  );
  return {
    observe: (notice) => {
      if (notice.kind === "moved") moved.inc(notice.events);
      if (notice.kind === "archived") archived.inc(notice.events);
      if (notice.kind === "dropped") dropped.inc();
      if (notice.kind === "keys_deleted") deleted.inc(notice.events);
    },
    observeResult: (result) => {
      if (result.kind === "taken") return;
      lastSuccess.setToCurrentTime();
      if (result.oldestDay !== undefined) oldest.set(Date.parse(result.oldestDay) / 1_000);
    },
    observeFailure: () => failures.inc(),
  };
}
