import type { IntakeNotice, Placing } from "@millrace/intake";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2];
const EVENTS = [1, 2, 5, 10, 25, 50, 100, 250, 1_000];

/**
 * Counts what the intake tells. Labels are names of the config and codes of the registry, never what
 * a sender chose: a name that is not configured counts as `unknown`.
 */
export function createIngressMetrics(
  registry: Registry,
  state: { bytesInFlight(): number; placing(): readonly Placing[] },
) {
  const { deliveries, rejected, ack, batch, place, failures, ...rare } = instruments(registry);
  registerGauges(registry, state);

  function observe(notice: IntakeNotice): void {
    if (notice.kind === "answered") {
      const source = notice.source ?? "unknown";
      deliveries.inc({ source, outcome: notice.outcome });
      if (notice.outcome === "rejected") rejected.inc({ source, code: notice.code ?? "internal" });
      else ack.observe({ source }, notice.durationMs / 1_000);
    } else if (notice.kind === "batch") {
      batch.observe(notice.size);
      place.observe({ place: notice.place }, notice.durationMs / 1_000);
    } else if (notice.kind === "place_failed") {
      failures.inc({ place: notice.place }, notice.events);
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
  state: { bytesInFlight(): number; placing(): readonly Placing[] },
): void {
  const inFlight = new Gauge({
    name: "millrace_ingress_bytes_in_flight",
    help: "Bytes of bodies held just now.",
    registers: [],
    collect() {
      this.set(state.bytesInFlight());
    },
  });
  const inForce = new Gauge({
    name: "millrace_ingress_place",
    help: "1 for the durable place that events of a source go to just now (queue, ledger, none).",
    labelNames: ["source", "place"],
    registers: [],
    collect() {
      for (const { source, place } of state.placing()) {
        for (const name of ["queue", "ledger", "none"] as const) {
          this.set({ source, place: name }, name === (place ?? "none") ? 1 : 0);
        }
      }
    },
  });
  const degraded = new Gauge({
    name: "millrace_ingress_degraded",
    help: "1 while the events of a source do not go to the place that its config has first.",
    labelNames: ["source"],
    registers: [],
    collect() {
      for (const { source, place, first } of state.placing()) {
        this.set({ source }, place === first ? 0 : 1);
      }
    },
  });
  for (const gauge of [inFlight, inForce, degraded]) registry.registerMetric(gauge);
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
    help: "From the whole body being there until the answer, for accepted and duplicate deliveries.",
    labelNames: ["source"],
    buckets: SECONDS,
    registers,
  });
  const batch = new Histogram({
    name: "millrace_ingress_batch_events",
    help: "Events that shared one call to a durable place.",
    buckets: EVENTS,
    registers,
  });
  const place = new Histogram({
    name: "millrace_ingress_place_seconds",
    help: "How long a call to a durable place took.",
    labelNames: ["place"],
    buckets: SECONDS,
    registers,
  });
  const failures = new Counter({
    name: "millrace_ingress_place_failures_total",
    help: "Events that a durable place could not take in time.",
    labelNames: ["place"],
    registers,
  });
  return { deliveries, rejected, ack, batch, place, failures, ...rareInstruments(registers) };
}

function rareInstruments(registers: Registry[]) {
  const dropped = new Counter({
    name: "millrace_ingress_connections_dropped_total",
    help: "Connections closed unheard: as many as ingress.connectionsMax were open.",
    registers,
  });
  const conflicts = new Counter({
    name: "millrace_conflicts_total",
    help: "Deliveries of a known event with another body than the first, which is kept.",
    labelNames: ["source"],
    registers,
  });
  const redeliveries = new Counter({
    name: "millrace_redeliveries_total",
    help: "Deliveries of a failed event that was retried for it, or could not be in time.",
    labelNames: ["source", "result"],
    registers,
  });
  const leftBehind = new Counter({
    name: "millrace_ingress_left_behind_total",
    help: "Events that the ledger has and the ingress could not enqueue: the reconciler does.",
    registers,
  });
  return { dropped, conflicts, redeliveries, leftBehind };
}
