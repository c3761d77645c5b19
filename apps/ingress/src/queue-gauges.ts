import type { Pressure } from "@millrace/queue";
import { Gauge, type Registry } from "prom-client";

/** Registers how full the queue is, as the ingress sees it: also while no worker runs. */
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
    help: "Redis' used memory as a part of its maxmemory; 0 without one, and on Postgres.",
    registers: [],
    collect() {
      this.set(state.pressure().memoryShare ?? 0);
    },
  });
  const depth = ofEachSource(
    "depth",
    "Jobs that wait for a worker or for the time of their next attempt.",
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
