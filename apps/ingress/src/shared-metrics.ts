import cluster from "node:cluster";
import type { MetricsSource } from "@millrace/service";
import { AggregatorRegistry, type Registry } from "prom-client";

// A scrape reaches one of several processes. A label for each: a restart resets only its counters.

/** In the process that started the others: collects their metrics when one of them asks. */
export function collectMetrics(): void {
  const all = new AggregatorRegistry();
  cluster.on("message", (worker, message: { kind?: unknown }) => {
    if (message.kind !== "metrics") return;
    const answer = (text: string | undefined) => {
      if (worker.isConnected()) worker.send({ kind: "metrics", text });
    };
    all.clusterMetrics().then(answer, () => answer(undefined));
  });
}

/** In one of the others: gives its metrics to the collector, and answers with those of all. */
export function shareMetrics(registry: Registry): MetricsSource {
  AggregatorRegistry.setRegistries(registry);
  const { contentType } = new AggregatorRegistry();
  const waiting: ((text: string | undefined) => void)[] = [];
  process.on("message", (message: { kind?: unknown; text?: string }) => {
    if (message.kind !== "metrics") return;
    for (const answer of waiting.splice(0)) answer(message.text);
  });
  return {
    contentType,
    metrics: async () => {
      const text = await new Promise<string | undefined>((resolve) => {
        waiting.push(resolve);
        process.send?.({ kind: "metrics" });
      });
      if (text === undefined)
        throw new Error("Cannot collect the metrics: a process did not answer");
      return text;
    },
  };
}
