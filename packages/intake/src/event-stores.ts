import {
  failpoint,
  isMillraceError,
  type Config,
  type ErrorCode,
  type IncomingEvent,
  type StoreResult,
} from "@millrace/core";
import type { EventStore, RedeliveryPort, StoreName } from "./event-store.ts";
import type { Notify } from "./notice.ts";
import { createRedeliver, type Redeliver } from "./redeliver.ts";
import type { ReadySource } from "./sources.ts";
import { StoreWriter } from "./store-writer.ts";

interface Deps {
  readonly config: Pick<Config, "ingress">;
  readonly stores: readonly EventStore[];
  readonly redelivery?: RedeliveryPort | undefined;
  readonly notify: Notify;
}

export type Stored = "accepted" | "duplicate" | "unavailable";

export interface ActiveStore {
  readonly source: string;
  readonly active: StoreName | undefined;
  readonly preferred: StoreName | undefined;
}

/** The part of an answer's time that the stores share. The rest is for a retry, and for us. */
const STORES_SHARE = 0.8;
const REST_MS = 250;
/** A larger body goes to the ledger first: Redis keeps all of it in memory and sends it whole. */
const QUEUED_BODY_BYTES_MAX = 256 * 1024;

export class EventStores {
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  readonly #writers: readonly StoreWriter[];
  readonly #orders: Readonly<Record<StoreName, readonly StoreWriter[]>>;
  readonly #redeliver: Redeliver | undefined;
  readonly #notify: Notify;
  readonly #timeoutMs: number;

  constructor({ config, stores, redelivery, notify }: Deps) {
    const { batchMax, inFlightBytesMax, answerTimeoutMs } = config.ingress;
    const writing = {
      batchMax,
      timeoutMs: storeTimeoutMs(config.ingress, stores.length),
      abandonedBytesMax: inFlightBytesMax / 4,
      restMs: stores.length > 1 ? REST_MS : 0,
    };
    this.#writers = stores.map((store) => new StoreWriter(store, notify, writing));
    this.#orders = {
      queue: withFirst(this.#writers, "queue"),
      ledger: withFirst(this.#writers, "ledger"),
    };
    this.#redeliver = redelivery && createRedeliver(redelivery, notify);
    this.#notify = notify;
    this.#timeoutMs = answerTimeoutMs;
    this.checks = Object.fromEntries(
      this.#writers.map((writer) => [writer.name, () => writer.check()]),
    );
  }

  async storeEvents(source: ReadySource, events: readonly IncomingEvent[]): Promise<Stored> {
    if (events.length === 0) return "accepted";
    const startedMs = performance.now();
    const results = await this.#put(source, events);
    if (results.some(isMissing)) return "unavailable";
    for (const { eventId } of withResult("conflict", events, results)) {
      this.#notify({ kind: "conflict", source: source.name, eventId });
    }
    if (results.includes("failed") || results.includes("completed")) {
      const leftMs = () => this.#timeoutMs - (performance.now() - startedMs);
      if (!(await this.#runAgain(source, events, results, leftMs))) return "unavailable";
    }
    return results.includes("accepted") ? "accepted" : "duplicate";
  }

  riskOf(name: string): ErrorCode | undefined {
    return this.#writers.find((writer) => writer.name === name)?.risk;
  }

  async #runAgain(
    { name, redelivery }: ReadySource,
    events: readonly IncomingEvent[],
    results: readonly StoreResult[],
    leftMs: () => number,
  ): Promise<boolean> {
    const redeliver = this.#redeliver;
    if (redeliver === undefined) return true;
    const failed = redelivery === "retry" ? withResult("failed", events, results) : NONE;
    const completed = withResult("completed", events, results);
    // A ledger that is down is not waited for: the reconciler compares what completed.
    const asks = completed.length > 0 && this.#orders.ledger[0]?.takes(name) === true;
    const undone = asks ? await redeliver.findUndone(completed, leftMs()) : NONE;
    const again = [...failed, ...undone];
    return again.length === 0 || (await redeliver.retry(again, leftMs()));
  }

  activeStore({ name, ack }: ReadySource): ActiveStore {
    const order = this.#orders[ack];
    const active = order.find((writer) => writer.takes(name))?.name;
    return { source: name, active, preferred: order[0]?.name };
  }

  close(): void {
    for (const writer of this.#writers) writer.close();
  }

  async #put({ name, ack }: ReadySource, events: readonly IncomingEvent[]) {
    const order = events.some(isLarge) ? this.#orders.ledger : this.#orders[ack];
    let results: readonly StoreResult[] | undefined;
    for (const writer of order) {
      if (!writer.takes(name)) continue;
      if (results === undefined) results = await writer.put(events);
      else {
        failpoint("ingress.fallen_back");
        results = await putMissing(writer, events, results);
      }
      if (!results.some(isMissing)) break;
    }
    return results ?? events.map(() => NO_STORE);
  }
}

export function storeTimeoutMs(
  { answerTimeoutMs }: Pick<Config["ingress"], "answerTimeoutMs">,
  stores: number,
): number {
  return (answerTimeoutMs * STORES_SHARE) / stores;
}

function withFirst(writers: readonly StoreWriter[], first: StoreName): readonly StoreWriter[] {
  return writers.toSorted((a, b) => Number(b.name === first) - Number(a.name === first));
}

async function putMissing(
  writer: StoreWriter,
  events: readonly IncomingEvent[],
  results: readonly StoreResult[],
): Promise<readonly StoreResult[]> {
  const missing = events.filter((_, index) => isMissing(results[index]));
  const further = (await writer.put(missing)).values();
  return results.map((result) => (isMissing(result) ? (further.next().value ?? NO_STORE) : result));
}

function withResult(
  wanted: "conflict" | "failed" | "completed",
  events: readonly IncomingEvent[],
  results: readonly StoreResult[],
): readonly IncomingEvent[] {
  if (!results.includes(wanted)) return NONE;
  return events.filter((_, index) => results[index] === wanted);
}

const NONE: readonly IncomingEvent[] = [];
const NO_STORE = new Error("Cannot store the event: no event store takes it");
const isMissing = (result: StoreResult | undefined): result is Error => result instanceof Error;
const isLarge = ({ body }: IncomingEvent): boolean => body.byteLength > QUEUED_BODY_BYTES_MAX;

// Without the message: it may name an address, and a stranger may read it.
export async function stateOf(check: () => Promise<void>): Promise<string> {
  try {
    await check();
    return "ok";
  } catch (error) {
    return isMillraceError(error) ? error.code : "unavailable";
  }
}
