import {
  createBatcher,
  createCircuitBreaker,
  Deadlines,
  failpoint,
  isMillraceError,
  withDeadline,
  type Batcher,
  type CircuitBreaker,
  type Deadline,
  type ErrorCode,
  type IncomingEvent,
  type StoreResult,
} from "@millrace/core";
import type { EventStore, StoreBreaker, StoreName } from "./event-store.ts";
import type { Notify } from "./notice.ts";

export interface StoreWriterOptions {
  /** Events in one call to the store. */
  readonly batchMax: number;
  /** Calls to the store in flight at once. */
  readonly callsMax: number;
  /** Milliseconds that a delivery waits for the store. */
  readonly timeoutMs: number;
  /** Bytes of bodies in abandoned calls; above it the store gets no more events. */
  readonly abandonedBytesMax: number;
  /** Milliseconds that the store is left alone after a failure; 0 when there is no other store. */
  readonly restMs: number;
}

/** One delivery's wait for the store. */
interface Delivery {
  /** Dropped when the wait ends, so that bodies that are still in line behind a hung call are freed. */
  events: readonly IncomingEvent[] | undefined;
  readonly results: StoreResult[];
  /** How many of its events have no result yet. */
  open: number;
  readonly resolve: (results: readonly StoreResult[]) => void;
}

interface Waiting {
  readonly delivery: Delivery;
  readonly index: number;
}

/** Codes of an event's error that say that its store failed, and not the event. */
const OUTAGES: ReadonlySet<ErrorCode> = new Set([
  "unavailable",
  "database_unavailable",
  "database_read_only",
  "database_unreachable",
  "redis_unreachable",
] as const);

const NOT_SENT = new Error("Cannot store the event: its sender was answered before its turn came");

/**
 * Writes the events of many deliveries to one store: few calls, each with the events of many
 * deliveries. A store that fails costs few deliveries their time.
 *
 * Each delivery has a deadline here, which includes its time in line behind another call. A call has one
 * deadline and one circuit breaker: those of the store's client, or ours when the client has none.
 */
export class StoreWriter {
  readonly name: StoreName;
  readonly #store: EventStore;
  readonly #notify: Notify;
  readonly #options: StoreWriterOptions;
  /** For a store whose client has no circuit breaker. */
  readonly #ownBreaker: CircuitBreaker;
  readonly #batcher: Batcher<Waiting, StoreResult>;
  readonly #deadlines: Deadlines<Delivery>;
  // Bodies of calls that timed out stay in memory until the call ends.
  #abandonedBytes = 0;
  /** Why the store is down, when it is. */
  #failure: Error | undefined;
  /** Until then the store is left alone: one that answers probes and refuses everything else would
   * cost a delivery its time again and again. */
  #restsUntilMs = 0;

  constructor(store: EventStore, notify: Notify, options: StoreWriterOptions) {
    this.name = store.name;
    this.#store = store;
    this.#notify = notify;
    this.#options = options;
    this.#ownBreaker = createCircuitBreaker(() => store.ping());
    this.#deadlines = new Deadlines(options.timeoutMs, (delivery) => this.#giveUp(delivery));
    this.#batcher = createBatcher((waiting) => this.#putWaiting(waiting), {
      sizeMax: options.batchMax,
      inFlightMax: options.callsMax,
    });
  }

  /** Why the store may lose what it confirms. */
  get risk(): ErrorCode | undefined {
    return this.#store.risk?.();
  }

  /** Whether the store takes events of a source now: it answers and is not full. */
  takes(source: string): boolean {
    if (this.#isDown || this.#abandonedBytes > this.#options.abandonedBytesMax) return false;
    return !this.#store.isFull(source);
  }

  /**
   * Stores one delivery's events. One result an event, in order. Never rejects, and never takes longer
   * than `timeoutMs`. An event that is answered with an error may still have been stored.
   */
  put(events: readonly IncomingEvent[]): Promise<readonly StoreResult[]> {
    return new Promise((resolve) => {
      const delivery: Delivery = { events, results: [], open: events.length, resolve };
      const deadline = this.#deadlines.add(delivery);
      for (const index of events.keys()) {
        this.#batcher.push(
          { delivery, index },
          (result) => this.#settle(deadline, index, result),
          (error) => this.#settle(deadline, index, asError(error)),
        );
      }
    });
  }

  /**
   * Pings the store, with the deadline of a write. One that does not answer is down from then on. One
   * that is down is not asked: the breaker asks it.
   *
   * @throws why the store is down.
   */
  async check(): Promise<void> {
    if (this.#isDown) throw this.#failure ?? this.#down();
    try {
      await withDeadline(this.#store.ping(), this.#options.timeoutMs, () => this.#late());
    } catch (error) {
      this.#trip(error);
      this.#notify({ kind: "store_failed", store: this.name, events: 0, error });
      throw error;
    }
  }

  /** Ends our probes of a store that is down. */
  close(): void {
    this.#ownBreaker.stop();
  }

  get #breaker(): StoreBreaker {
    return this.#store.breaker ?? this.#ownBreaker;
  }

  get #isDown(): boolean {
    return this.#breaker.isOpen || performance.now() < this.#restsUntilMs;
  }

  async #putWaiting(waiting: readonly Waiting[]): Promise<readonly StoreResult[]> {
    const live: IncomingEvent[] = [];
    for (const { delivery, index } of waiting) {
      const event = delivery.events?.[index];
      if (event !== undefined) live.push(event);
    }
    if (live.length === waiting.length) return await this.#call(live);
    if (live.length === 0) return waiting.map(() => NOT_SENT);
    const isLive = waiting.map(({ delivery }) => delivery.events !== undefined);
    const results = (await this.#call(live)).values();
    return isLive.map((wasSent) => (wasSent ? (results.next().value ?? NOT_SENT) : NOT_SENT));
  }

  async #call(events: readonly IncomingEvent[]): Promise<readonly StoreResult[]> {
    // What waited behind the call that failed does not wait for another one.
    if (this.#isDown) return this.#failAll(events, this.#down());
    const startedMs = performance.now();
    try {
      failpoint("ingress.before_put");
      const results = await this.#putInTime(events);
      failpoint("ingress.placed");
      if (results.some(isError)) this.#onErrors(results.filter(isError));
      else this.#failure = undefined;
      return results;
    } catch (error) {
      this.#trip(error);
      return this.#failAll(events, asError(error));
    } finally {
      const durationMs = performance.now() - startedMs;
      this.#notify({ kind: "batch", store: this.name, size: events.length, durationMs });
    }
  }

  #putInTime(events: readonly IncomingEvent[]): Promise<readonly StoreResult[]> {
    const call = this.#store.put(events);
    if (this.#store.breaker !== undefined) return call;
    return withDeadline(call, this.#options.timeoutMs, () => {
      this.#abandon(call, events);
      return this.#late();
    });
  }

  #abandon(call: Promise<unknown>, events: readonly IncomingEvent[]): void {
    const bytes = events.reduce((sum, { body }) => sum + body.byteLength, 0);
    this.#abandonedBytes += bytes;
    void Promise.allSettled([call]).then(() => (this.#abandonedBytes -= bytes));
  }

  #onErrors(errors: readonly Error[]): void {
    this.#notify({
      kind: "store_failed",
      store: this.name,
      events: errors.length,
      error: errors[0],
    });
    const outage = errors.find(isOutage);
    if (outage !== undefined) this.#trip(outage);
  }

  #trip(error: unknown): void {
    this.#failure = asError(error);
    this.#breaker.trip();
    this.#restsUntilMs = performance.now() + this.#options.restMs;
  }

  #settle(deadline: Deadline<Delivery>, index: number, result: StoreResult): void {
    const { item: delivery } = deadline;
    delivery.results[index] = result;
    delivery.open -= 1;
    if (delivery.open > 0) return;
    this.#deadlines.delete(deadline);
    delivery.events = undefined;
    delivery.resolve(delivery.results);
  }

  #giveUp(delivery: Delivery): void {
    const error = this.#late();
    delivery.resolve(delivery.events?.map(() => error) ?? []);
    delivery.events = undefined;
  }

  #failAll(events: readonly IncomingEvent[], error: Error): readonly Error[] {
    this.#notify({ kind: "store_failed", store: this.name, events: events.length, error });
    return events.map(() => error);
  }

  #down(): Error {
    return new Error(`Cannot reach the ${this.name}: it did not answer`);
  }

  #late(): Error {
    return new Error(
      `Cannot reach the ${this.name}: no answer within ${this.#options.timeoutMs} ms`,
    );
  }
}

const isError = (result: StoreResult): result is Error => result instanceof Error;

function isOutage(error: unknown): boolean {
  return isMillraceError(error) && OUTAGES.has(error.code);
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
