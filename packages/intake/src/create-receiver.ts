import type { Config, IngressConfig } from "@millrace/core";
import { createKeeper } from "./create-keeper.ts";
import { safeNotify, type Notify } from "./notice.ts";
import type { Placing } from "./places.ts";
import type { DurablePlace, RedeliveryPort } from "./ports.ts";
import { readySources, type ReadySource } from "./ready-sources.ts";
import { rejection, type Received, type ReceiveRequest } from "./received.ts";
import { takeDelivery } from "./take-delivery.ts";

export interface ReceiverDeps {
  /** The whole config; only `sources` and `ingress` are read. */
  readonly config: Pick<Config, "sources" | "ingress">;
  /** Live secrets by source; several while one is being changed. Go before the config's own. */
  readonly secrets: Readonly<Record<string, readonly string[]>>;
  /** One durable place, or both: which one is first is each source's `ack`. */
  readonly places: readonly DurablePlace[];
  /** Runs a failed event again that its sender delivers again; without it nothing does. */
  readonly redelivery?: RedeliveryPort | undefined;
  readonly notify?: Notify;
  /** The clock that signed timestamps are held against, milliseconds since the epoch. */
  readonly nowMs?: () => number;
}

export interface ReceiverOptions {
  /** Calls to each durable place under way at once; what arrives meanwhile shares the next. */
  readonly callsMax?: number;
}

/** What a door needs to know of a source before it reads a body. */
export interface SourceLimits {
  readonly methods: readonly string[];
  readonly bodyBytesMax: number;
}

export interface Receiver {
  /** Verifies, identifies and places one delivery, and says what to answer. Never rejects, and
   * takes at most `ingress.answerTimeoutMs`. */
  receive(request: ReceiveRequest): Promise<Received>;
  /** A configured source, or undefined. */
  source(name: string): SourceLimits | undefined;
  /** The durable place in force for each source. */
  placing(): readonly Placing[];
  /** Each durable place by name; resolves when it answers, and shuts one that does not. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  /** How much the doors take in, and for how long they wait. */
  readonly limits: IngressConfig;
  readonly notify: Notify;
  readonly closing: boolean;
  /** Refuses what comes from now on, and resolves when everything taken in was answered. */
  close(): Promise<void>;
}

/**
 * Makes the way in: verify, identify, place, free of any HTTP framework.
 *
 * @throws `missing_secret` with every source that has no usable secret.
 */
export function createReceiver(deps: ReceiverDeps, options: ReceiverOptions = {}): Receiver {
  const sources = readySources(deps.config, deps.secrets);
  const notify = safeNotify(deps.notify);
  const nowMs = deps.nowMs ?? Date.now;
  const keeper = createKeeper({ ...deps, notify }, options);
  const underWay = new Set<Promise<Received>>();
  let closing = false;

  async function receive(request: ReceiveRequest): Promise<Received> {
    const startedMs = performance.now();
    const source = sources.get(request.source);
    const answering = settle(source, request);
    underWay.add(answering);
    const received = await answering;
    underWay.delete(answering);
    notify({
      kind: "answered",
      source: source?.name,
      outcome: received.outcome,
      code: received.code,
      durationMs: performance.now() - startedMs,
    });
    return received;
  }

  async function settle(
    source: ReadySource | undefined,
    request: ReceiveRequest,
  ): Promise<Received> {
    try {
      if (closing) return rejection("shutting_down", "Cannot take the delivery: closing");
      return await takeDelivery(source, request, {
        keep: keeper.keep,
        nowMs,
      });
    } catch (error) {
      notify({ kind: "unexpected", source: source?.name, error });
      return rejection("internal", "Cannot take the delivery: something unexpected happened");
    }
  }

  async function close(): Promise<void> {
    closing = true;
    while (underWay.size > 0) await Promise.all(underWay);
    keeper.close();
  }

  return {
    receive,
    placing: () => [...sources.values()].map(keeper.inForce),
    checks: keeper.checks,
    source: (name) => {
      const source = sources.get(name);
      return source && { methods: source.provider.methods, bodyBytesMax: source.bodyBytesMax };
    },
    limits: deps.config.ingress,
    notify,
    get closing() {
      return closing;
    },
    close,
  };
}
