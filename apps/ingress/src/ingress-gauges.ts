import type { ActiveStore } from "@millrace/intake";
import type { Pressure } from "@millrace/queue";
import { metricsOf } from "@millrace/service";
import type { Registry } from "prom-client";

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
type SourcePressure = ReturnType<Pressure["of"]>;
