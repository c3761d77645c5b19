import type { Config } from "@millrace/core";
import {
  createNodeDoor,
  createReceiver,
  type DurablePlace,
  type NodeDoor,
  type Notify,
  type Receiver,
  type RedeliveryPort,
} from "@millrace/intake";
import type { Pressure } from "@millrace/queue";
import {
  closeServer,
  createStatusApp,
  listen,
  type Logger,
  type Readiness,
} from "@millrace/service";
import type { Registry } from "prom-client";
import { createIngressMetrics } from "./ingress-metrics.ts";
import { createIngressServer } from "./ingress-server.ts";
import { logNotices } from "./log-notices.ts";
import { registerQueueGauges } from "./queue-gauges.ts";
import { readinessOf } from "./readiness.ts";

export interface IngressDeps {
  readonly config: Config;
  /** Live secrets by source. */
  readonly secrets: Readonly<Record<string, readonly string[]>>;
  /** One durable place, or both. */
  readonly places: readonly DurablePlace[];
  /** Runs a failed event again that its sender delivers again. */
  readonly redelivery?: RedeliveryPort | undefined;
  /** How full the queue is, for the metrics. */
  readonly pressure?: () => Pressure;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Hears what the log and the metrics hear. */
  readonly notify?: Notify;
}

export interface Ingress {
  /**
   * Listens, and gives the port it got.
   * @throws `port_in_use`
   */
  listen(options: { port: number; host: string }): Promise<number>;
  /** Logs and counts a notice of something that works for it. */
  readonly notify: Notify;
  /** Stops accepting, answers what was read, and cuts the rest after `shutdownTimeoutMs`. */
  close(): Promise<void>;
}

/**
 * Makes the ingress: `POST /webhooks/<source>` straight on node:http, everything else on Express.
 *
 * @throws `missing_secret` with every source that has no usable secret.
 */
export function createIngress(deps: IngressDeps): Ingress {
  const { config, logger, registry } = deps;
  const log = logNotices(logger);
  const notify: Notify = (notice) => {
    metrics.observe(notice);
    log(notice);
    deps.notify?.(notice);
  };
  const receiver: Receiver = createReceiver({ ...deps, notify });
  const door: NodeDoor = createNodeDoor(receiver);
  let closing = false;
  const metrics = createIngressMetrics(registry, {
    bytesInFlight: () => door.bytesInFlight,
    placing: () => receiver.placing(),
  });
  const { pressure } = deps;
  if (pressure !== undefined) {
    registerQueueGauges(registry, { sources: Object.keys(config.sources), pressure });
  }

  async function readiness(): Promise<Readiness> {
    if (closing) return { ready: false, parts: { ingress: "closing" } };
    return await readinessOf(receiver);
  }

  const onError = (error: unknown) => log({ kind: "unexpected", source: undefined, error });
  const server = createIngressServer({
    door,
    app: createStatusApp({ registry, readiness, onError }),
    limits: config.ingress,
    onDrop: () => metrics.connectionDropped(),
  });

  return {
    notify,
    listen: async (options) => {
      const port = await listen(server, options);
      server.on("error", onError);
      return port;
    },
    close: async () => {
      closing = true;
      const answered = door.close();
      await closeServer(server, { timeoutMs: config.ingress.shutdownTimeoutMs });
      await answered;
      await receiver.close();
    },
  };
}
