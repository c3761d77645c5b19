import type { ActiveStore, IntakeNotice } from "@millrace/intake";
import type { Pressure } from "@millrace/queue";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2];
const EVENTS = [1, 2, 5, 10, 25, 50, 100, 250, 1_000];

/**
 * Counts what the intake reports. Labels are names from the config and codes of the registry, never
 * what a sender chose: a name that is not configured counts as `unknown`.
 */
export function createIngressMetrics(
  registry: Registry,
  state: { bytesInFlight(): number; activeStores(): readonly ActiveStore[] },
) {
  const { deliveries, rejected, ack, batch, store, failures, ...rare } = instruments(registry);
  registerGauges(registry, state);

  function observe(notice: IntakeNotice): void {
    if (notice.kind === "answered") {
      const source = notice.source ?? "unknown";
      deliveries.inc({ source, outcome: notice.outcome });
      if (notice.outcome === "rejected") rejected.inc({ source, code: notice.code ?? "internal" });
      else ack.observe({ source }, notice.durationMs / 1_000);
    } else if (notice.kind === "batch") {
      batch.observe(notice.size);
      store.observe({ store: notice.store }, notice.durationMs / 1_000);
    } else if (notice.kind === "store_failed") {
      failures.inc({ store: notice.store }, notice.events);
    } else if (notice.kind === "conflict") {
      rare.conflicts.inc({ source: notice.source });
    } else if (notice.kind === "redelivered") {
      const result = notice.error === undefined ? "retried" : "failed";
      rare.redeliveries.inc({ source: notice.source, result });
    } else if (notice.kind === "left_behind") {
      rare.leftBehind.inc(notice.events);
    }
  }

  return { observe, connectionDropped: () => rare.dropped.inc() };
}

function registerGauges(
  registry: Registry,
  state: { bytesInFlight(): number; activeStores(): readonly ActiveStore[] },
): void {
  const inFlight = new Gauge({
    name: "millrace_ingress_bytes_in_flight",
    help: "Bytes of request bodies held in memory.",
    registers: [],
    collect() {
      this.set(state.bytesInFlight());
    },
  });
  const activeStore = new Gauge({
    name: "millrace_ingress_active_store",
    help: "1 for the event store that receives a source's events now (queue, ledger, none).",
    labelNames: ["source", "store"],
    registers: [],
    collect() {
      for (const { source, active: store = "none" } of state.activeStores()) {
        for (const name of ["queue", "ledger", "none"] as const) {
          this.set({ source, store: name }, name === store ? 1 : 0);
        }
      }
    },
  });
  const degraded = new Gauge({
    name: "millrace_ingress_degraded",
    help: "1 while a source's events do not go to the event store that its config prefers.",
    labelNames: ["source"],
    registers: [],
    collect() {
      for (const { source, active, preferred } of state.activeStores()) {
        this.set({ source }, active === preferred ? 0 : 1);
      }
    },
  });
  for (const gauge of [inFlight, activeStore, degraded]) registry.registerMetric(gauge);
}

function instruments(registry: Registry) {
  const registers = [registry];
  const deliveries = new Counter({
    name: "millrace_ingress_deliveries_total",
    help: "Deliveries answered, by source and outcome (accepted, duplicate, handshake, rejected).",
    labelNames: ["source", "outcome"],
    registers,
  });
  const rejected = new Counter({
    name: "millrace_ingress_rejected_total",
    help: "Deliveries rejected, by source and error code.",
    labelNames: ["source", "code"],
    registers,
  });
  const ack = new Histogram({
    name: "millrace_ingress_ack_seconds",
    help: "Time from the last byte of the body to the response, for accepted and duplicate deliveries.",
    labelNames: ["source"],
    buckets: SECONDS,
    registers,
  });
  const batch = new Histogram({
    name: "millrace_ingress_batch_events",
    help: "Events in one call to an event store.",
    buckets: EVENTS,
    registers,
  });
  const store = new Histogram({
    name: "millrace_ingress_store_seconds",
    help: "How long a call to an event store took.",
    labelNames: ["store"],
    buckets: SECONDS,
    registers,
  });
  const failures = new Counter({
    name: "millrace_ingress_store_failures_total",
    help: "Events that an event store could not store in time.",
    labelNames: ["store"],
    registers,
  });
  return { deliveries, rejected, ack, batch, store, failures, ...rareInstruments(registers) };
}

function rareInstruments(registers: Registry[]) {
  const dropped = new Counter({
    name: "millrace_ingress_connections_dropped_total",
    help: "Connections rejected because ingress.connectionsMax was reached.",
    registers,
  });
  const conflicts = new Counter({
    name: "millrace_conflicts_total",
    help: "Deliveries of a known event with a different body. The first body is kept.",
    labelNames: ["source"],
    registers,
  });
  const redeliveries = new Counter({
    name: "millrace_redeliveries_total",
    help: "Deliveries of a failed event that retried it, or whose retry failed.",
    labelNames: ["source", "result"],
    registers,
  });
  const leftBehind = new Counter({
    name: "millrace_ingress_enqueue_deferred_total",
    help: "Events stored in the ledger that the ingress could not enqueue. The reconciler enqueues them.",
    registers,
  });
  return { dropped, conflicts, redeliveries, leftBehind };
}

/** Registers how full the queue is, as the ingress sees it, also while no worker runs. */
export function registerQueueGauges(
  registry: Registry,
  state: { sources: readonly string[]; pressure(): Pressure },
): void {
  const ofEachSource = (name: string, help: string, read: (of: SourcePressure) => number) =>
    new Gauge({
      name: `millrace_ingress_queue_${name}`,
      help,
      labelNames: ["source"],
      registers: [],
      collect() {
        const pressure = state.pressure();
        for (const source of state.sources) this.set({ source }, read(pressure.of(source)));
      },
    });
  const memory = new Gauge({
    name: "millrace_ingress_queue_memory_ratio",
    help: "Redis memory in use as a fraction of maxmemory; 0 without maxmemory, and on Postgres.",
    registers: [],
    collect() {
      this.set(state.pressure().memoryShare ?? 0);
    },
  });
  const depth = ofEachSource(
    "depth",
    "Jobs that wait for a worker or for their next attempt.",
    (of) => of.depth,
  );
  const oldest = ofEachSource(
    "oldest_seconds",
    "How long the oldest job has waited for its first attempt; 0 when none waits.",
    ({ oldestAgeMs }) => (oldestAgeMs ?? 0) / 1_000,
  );
  for (const gauge of [memory, depth, oldest]) registry.registerMetric(gauge);
}

type SourcePressure = ReturnType<Pressure["of"]>;
