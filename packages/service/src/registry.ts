import { collectDefaultMetrics, Registry } from "prom-client";

/** A role's Prometheus registry, with the process's own metrics (memory, CPU, event loop) in it. */
export function createRegistry(options: { role: string }): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ role: options.role });
  collectDefaultMetrics({ register: registry });
  return registry;
}
