import { meaningOf } from "@millrace/core";
import type { IntakeNotice, Notify, ActiveStore } from "@millrace/intake";
import { createErrorLog, metricsOf, type Logger } from "@millrace/service";
import type { Registry } from "prom-client";
import type { Pressure, SourcePressure } from "@millrace/queue";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2];
const REJECTION_INTERVAL_MS = 10_000;

interface Deps {
  readonly registry: Registry;
  readonly logger: Logger;
  readonly next?: Notify | undefined;
}

export function observeIntake({ registry, logger, next }: Deps): Notify {
  const count = createIntakeMetrics(registry);
  const log = logNotices(logger);
  return (notice) => {
    count(notice);
    log(notice);
    next?.(notice);
  };
}

/** Labels are names of the config and codes, never a sender's text. */
function createIntakeMetrics(registry: Registry): Notify {
  const { counter, histogram } = metricsOf(registry);
  const deliveries = counter(
    "millrace_ingress_deliveries_total",
    "Deliveries answered, by source and outcome (accepted, duplicate, handshake, rejected).",
    "source",
    "outcome",
  );
  const rejected = counter(
    "millrace_ingress_rejected_total",
    "Deliveries rejected, by source and error code, and why a signature failed.",
    "source",
    "code",
    "failure",
  );
  const ack = histogram(
    "millrace_ingress_ack_seconds",
    "Time from the last byte of the body to the response, for accepted and duplicate deliveries.",
    SECONDS,
  );
  const conflicts = counter(
    "millrace_conflicts_total",
    "Deliveries of a known event with a different body. The first body is kept.",
    "source",
  );
  const unnoted = counter(
    "millrace_deliveries_unnoted_total",
    "Deliveries of known events that were not counted: too many were waiting to be written, or Postgres did not answer.",
  );
  const admission = counter(
    "millrace_ingress_admission_refused_total",
    "Deliveries rejected before their body was whole, by source and reason.",
    "source",
    "reason",
  );
  return (notice) => {
    if (notice.kind === "answered") {
      const source = notice.source ?? "unknown";
      deliveries.inc({ source, outcome: notice.outcome });
      const { code = "internal", failure } = notice;
      const labels = { source, code, ...(failure && { failure: failure.reason }) };
      if (notice.outcome === "rejected") rejected.inc(labels);
      else ack.observe({ source }, notice.durationMs / 1_000);
      if (notice.admission !== undefined) admission.inc({ source, reason: notice.admission });
    } else if (notice.kind === "conflict") {
      conflicts.inc({ source: notice.source });
    } else if (notice.kind === "deliveries_unnoted") {
      unnoted.inc(notice.deliveries);
    }
  };
}

/** Turns notices into log lines: no secret, no body, and no line for each request of a flood. */
function logNotices(logger: Logger): Notify {
  const logError = createErrorLog(logger);
  const rejections = createErrorLog(logger, { intervalMs: REJECTION_INTERVAL_MS });
  return (notice) => {
    if (notice.kind === "store_failed") return logError(notice.store, notice.error);
    if (notice.kind === "left_behind")
      return logError("enqueue deferred to the reconciler", notice.error);
    if (notice.kind === "deliveries_unnoted")
      return logError("deliveries not counted", notice.error);
    if (notice.kind === "redelivered" && notice.error !== undefined)
      return logError(`redelivery: ${notice.source}`, notice.error);
    if (notice.kind === "conflict") {
      // An investigation needs the id, and the sender has signed the body.
      const id = JSON.stringify(notice.eventId);
      const text = `a different body was delivered under the id ${id}`;
      return rejections(`conflict: ${notice.source}`, text);
    }
    if (notice.kind === "unexpected") {
      return logError(`unexpected: ${notice.source ?? "unknown"}`, withoutMessage(notice.error));
    }
    if (notice.kind === "answered") logRejection(notice);
  };

  function logRejection(notice: IntakeNotice & { kind: "answered" }): void {
    const { source = "unknown", tenant, asked, code, failure } = notice;
    // A store that fails has been logged already.
    if (code === undefined || code === "unavailable") return;
    const { reason, ...seconds } = failure ?? {};
    rejections(
      `rejected: ${source}: ${reason ?? code}`,
      code === "unknown_source" ? notConfigured(asked, tenant) : meaningOf(code),
      {
        ...{ message: "delivery rejected", source, ...(tenant && { tenant }), code },
        ...(reason && { failure: reason, ...seconds }),
      },
    );
  }
}

// The sender reads that its signature is wrong, so a misspelled name shows only here.
function notConfigured(asked: string | undefined, tenant: string | undefined): string {
  const path = asked === undefined ? "a path" : `"${asked}"`;
  const unknown = `${path} names no source, or lacks its tenant,`;
  const what = tenant === undefined ? unknown : `the tenant "${tenant}" has no secret`;
  return `${what} in this config. The sender was answered 401, as for a wrong signature`;
}

// A provider's error can quote the body, as JSON.parse does. Its stack is enough.
function withoutMessage(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const frames = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  return [error.name, ...frames.slice(0, 3).map((line) => line.trim())].join(" ");
}

export function registerIngressGauges(
  registry: Registry,
  state: { bytesInFlight(): number; activeStores(): readonly ActiveStore[] },
): void {
  const { scraped } = metricsOf(registry);
  scraped(
    "millrace_ingress_bytes_in_flight",
    "Bytes of request bodies held in memory.",
    [],
    (gauge) => gauge.set(state.bytesInFlight()),
  );
  scraped(
    "millrace_ingress_active_store",
    "1 for the event store that receives a source's events now (queue, ledger, none).",
    ["source", "store"],
    (gauge) => {
      for (const { source, active: store = "none" } of state.activeStores()) {
        for (const name of ["queue", "ledger", "none"] as const) {
          gauge.set({ source, store: name }, name === store ? 1 : 0);
        }
      }
    },
  );
  scraped(
    "millrace_ingress_degraded",
    "1 while a source's events do not go to the event store that its config prefers.",
    ["source"],
    (gauge) => {
      for (const { source, active, preferred } of state.activeStores()) {
        gauge.set({ source }, active === preferred ? 0 : 1);
      }
    },
  );
}

/** Registers how full the queue is, as the ingress sees it, also while no worker runs. */
export function registerQueueGauges(
  registry: Registry,
  state: { sources: readonly string[]; pressure(): Pressure },
): void {
  const { scraped } = metricsOf(registry);
  const ofEachSource = (name: string, help: string, read: (of: SourcePressure) => number) =>
    scraped(`millrace_ingress_queue_${name}`, help, ["source"], (gauge) => {
      const pressure = state.pressure();
      for (const source of state.sources) gauge.set({ source }, read(pressure.of(source)));
    });
  scraped(
    "millrace_ingress_queue_memory_ratio",
    "Redis memory in use as a fraction of maxmemory; 0 without maxmemory, and on Postgres.",
    [],
    (gauge) => gauge.set(state.pressure().memoryShare ?? 0),
  );
  scraped(
    "millrace_ingress_queue_at_risk",
    "1 while Redis may lose what it confirms, by reason (redis_disk_slow, redis_no_replica).",
    ["reason"],
    (gauge) => {
      const { risk } = state.pressure();
      for (const reason of RISKS) gauge.set({ reason }, risk === reason ? 1 : 0);
    },
  );
  ofEachSource("depth", "Jobs that wait for a worker or for their next attempt.", (of) => of.depth);
  ofEachSource(
    "oldest_seconds",
    "How long the oldest job has waited for its first attempt; 0 when none waits.",
    ({ oldestAgeMs }) => (oldestAgeMs ?? 0) / 1_000,
  );
}

const RISKS: readonly NonNullable<Pressure["risk"]>[] = ["redis_disk_slow", "redis_no_replica"];
