import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

export function createRegistry(labels: { role: string; process?: string }): Registry {
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  collectDefaultMetrics({ register: registry });
  return registry;
}

export function metricsOf(registry: Registry) {
  const registers = [registry];
  return {
    counter: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Gauge({ name, help, labelNames, registers }),
    scraped: <Label extends string>(
      name: string,
      help: string,
      labelNames: Label[],
      read: (gauge: Gauge<Label>) => void | Promise<void>,
    ): void => {
      const gauge: Gauge<Label> = new Gauge({
        ...{ name, help, labelNames, registers: [] },
        collect: () => read(gauge),
      });
      registry.registerMetric(gauge);
    },
    histogram: (name: string, help: string, buckets: number[]) =>
      new Histogram({ name, help, labelNames: ["source"], buckets, registers }),
  };
}
