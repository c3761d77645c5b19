import { withUrl, type Config } from "@millrace/core";
import { createNodeAdapter, Receiver, type ReceiverDeps } from "@millrace/intake";
import type { Pressure } from "@millrace/queue";
import {
  closeServer,
  createStatusApp,
  listen,
  metricsOf,
  type Logger,
  type MetricsSource,
  type Readiness,
} from "@millrace/service";
import type { Registry } from "prom-client";
import { registerIngressGauges, registerQueueGauges, observeIntake } from "./observe-intake.ts";
import { createIngressServer } from "./ingress-server.ts";

/** `notify` gets every notice after the log and the metrics. */
export interface IngressDeps extends Omit<ReceiverDeps, "config" | "nowMs"> {
  readonly config: Config;
  readonly pressure?: () => Pressure;
  readonly logger: Logger;
  readonly registry: Registry;
  /** The metrics of all processes that listen on the port; undefined where this is the only one. */
  readonly shared?: MetricsSource;
}

export type Ingress = ReturnType<typeof createIngress>;

/** `POST /webhooks/<source>` runs on node:http, all else on Express. @throws `missing_secret` */
export function createIngress(deps: IngressDeps) {
  const { config, logger, registry } = deps;
  const notify = observeIntake({ registry, logger, next: deps.notify });
  const receiver = new Receiver({ ...deps, notify });
  const adapter = createNodeAdapter(receiver);
  let closing = false;
  registerIngressGauges(registry, {
    bytesInFlight: () => receiver.budget.taken,
    activeStores: () => receiver.activeStores(),
  });
  const { pressure } = deps;
  if (pressure !== undefined) {
    registerQueueGauges(registry, { sources: Object.keys(withUrl(config.sources)), pressure });
  }

  async function readiness(): Promise<Readiness> {
    if (closing) return { ready: false, parts: { ingress: "closing" } };
    const { status, parts, stores } = await receiver.ready();
    const isReady = { ready: status !== "not_ready", parts };
    return status === "degraded" ? { ...isReady, degraded: { stores: countOf(stores) } } : isReady;
  }

  const onError = (error: unknown) => notify({ kind: "unexpected", source: undefined, error });
  const { counter } = metricsOf(registry);
  const dropped = counter(
    "millrace_ingress_connections_dropped_total",
    "Connections closed because ingress.connectionsMax was reached.",
  );
  const idleClosed = counter(
    "millrace_ingress_idle_closed_total",
    "Times that idle connections were closed because more than half of ingress.connectionsMax were open.",
  );
  const server = createIngressServer({
    adapter,
    app: createStatusApp({ registry: deps.shared ?? registry, readiness, onError }),
    limits: config.ingress,
    onDrop: () => dropped.inc(),
    onIdleClosed: () => idleClosed.inc(),
  });

  return {
    notify,
    /** @throws `port_in_use` */
    listen: async (options: { port: number; host: string }): Promise<number> => {
      const port = await listen(server, options);
      server.on("error", onError);
      return port;
    },
    /** Stops accepting, answers what was read, and cuts off the rest after `shutdownTimeoutMs`. */
    close: async (): Promise<void> => {
      closing = true;
      const answered = adapter.close();
      await closeServer(server, { timeoutMs: config.ingress.shutdownTimeoutMs });
      await answered;
      await receiver.close();
    },
  };
}

/** Sources by the store that takes their events: a stranger who reads `/readyz` gets no names. */
function countOf(stores: Readonly<Record<string, string>>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const store of Object.values(stores)) counts[store] = (counts[store] ?? 0) + 1;
  return counts;
}
