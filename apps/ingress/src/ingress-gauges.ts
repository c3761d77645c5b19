import type { ActiveStore } from "@millrace/intake";
import type { Pressure } from "@millrace/queue";
import { Gauge, type Registry } from "prom-client";

export function registerIngressGauges(
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
  const atRisk = new Gauge({
    name: "millrace_ingress_queue_at_risk",
    help: "1 while Redis may lose what it confirms, by reason (redis_disk_slow, redis_no_replica).",
    labelNames: ["reason"],
    registers: [],
    collect() {
      const { risk } = state.pressure();
      for (const reason of RISKS) this.set({ reason }, risk === reason ? 1 : 0);
    },
  });
  for (const gauge of [memory, atRisk, depth, oldest]) registry.registerMetric(gauge);
}

const RISKS: readonly NonNullable<Pressure["risk"]>[] = ["redis_disk_slow", "redis_no_replica"];
type SourcePressure = ReturnType<Pressure["of"]>;
