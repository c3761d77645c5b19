import {
  asError,
  createBatcher,
  createCircuitBreaker,
  Deadlines,
  failpoint,
  isMillraceError,
  SERVER_AWAY,
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
  readonly batchMax: number;
  readonly timeoutMs: number;
  readonly abandonedBytesMax: number;
  readonly restMs: number;
}

interface Delivery {
  /** Dropped when the wait ends, to free bodies in line behind a hung call. */
  events: readonly IncomingEvent[] | undefined;
  readonly results: StoreResult[];
  open: number;
  readonly resolve: (results: readonly StoreResult[]) => void;
}

interface Waiting {
  readonly delivery: Delivery;
  readonly index: number;
}

/** Codes of an event's error that say that its store failed, and not the event. */
const OUTAGES: ReadonlySet<ErrorCode> = new Set([...SERVER_AWAY, "unavailable"]);

const NOT_SENT = new Error("Cannot store the event: its sender was answered before its turn came");

/**
 * Writes the events of many deliveries to one store in few calls. Each delivery has a deadline
 * here, its time in line included. A call has one deadline and one circuit breaker: those of the
 * store's client, or ours.
 */
export class StoreWriter {
  readonly name: StoreName;
  readonly #store: EventStore;
  readonly #notify: Notify;
  readonly #options: StoreWriterOptions;
  readonly #ownBreaker: CircuitBreaker;
  readonly #batcher: Batcher<Waiting, StoreResult>;
  readonly #deadlines: Deadlines<Delivery>;
  // Bodies of calls that timed out stay in memory until the call ends.
  #abandonedBytes = 0;
  #failure: Error | undefined;
  /** A server that answers probes and refuses all else would cost time again and again. */
  #restsUntilMs = 0;
  readonly #down: Error;

  constructor(store: EventStore, notify: Notify, options: StoreWriterOptions) {
    this.name = store.name;
    this.#store = store;
    this.#notify = notify;
    this.#options = options;
    this.#down = new Error(`Cannot reach the ${store.name}: it did not answer`);
    this.#ownBreaker = createCircuitBreaker(() => store.ping());
    this.#deadlines = new Deadlines(options.timeoutMs, (delivery) => this.#giveUp(delivery));
    this.#batcher = createBatcher((waiting) => this.#putWaiting(waiting), {
      sizeMax: options.batchMax,
    });
  }

  get risk(): ErrorCode | undefined {
    return this.#store.risk?.();
  }

  takes(source: string): boolean {
    if (this.#isDown()) return false;
    if (this.#abandonedBytes > this.#options.abandonedBytesMax) return false;
    return !this.#store.isFull(source);
  }

  /** In order, within `timeoutMs`. Never rejects. An event with an error may have been stored. */
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

  /** @throws the reason why the store is down; one that does not answer is down from then on */
  async check(): Promise<void> {
    if (this.#isDown()) throw this.#failure ?? this.#down;
    try {
      await withDeadline(this.#store.ping(), this.#options.timeoutMs, () => this.#late());
    } catch (error) {
      this.#trip(error);
      this.#notifyFailed(0, error);
      throw error;
    }
  }

  close(): void {
    this.#ownBreaker.stop();
  }

  get #breaker(): StoreBreaker {
    return this.#store.breaker ?? this.#ownBreaker;
  }

  #isDown(): boolean {
    return this.#breaker.isOpen || performance.now() < this.#restsUntilMs;
  }

  async #putWaiting(waiting: readonly Waiting[]): Promise<readonly StoreResult[]> {
    const sent: IncomingEvent[] = [];
    const unsent = waiting.map(({ delivery, index }) => {
      const event = delivery.events?.[index];
      if (event === undefined) return NOT_SENT;
      // An event that waited behind a call that failed does not wait for another one.
      if (this.#isDown()) return this.#down;
      sent.push(event);
      return undefined;
    });
    const refused = unsent.filter((error) => error === this.#down).length;
    if (refused > 0) this.#notifyFailed(refused, this.#down);
    if (sent.length === waiting.length) return await this.#call(sent);
    const results = sent.length === 0 ? NONE : (await this.#call(sent)).values();
    return unsent.map((error) => error ?? results.next().value ?? NOT_SENT);
  }

  async #call(events: readonly IncomingEvent[]): Promise<readonly StoreResult[]> {
    try {
      failpoint("ingress.before_put");
      const results = await this.#putInTime(events);
      failpoint("ingress.placed");
      const errors = results.filter(isError);
      if (errors.length > 0) this.#onErrors(errors);
      else if (!this.#isDown()) this.#failure = undefined;
      return results;
    } catch (thrown) {
      const error = asError(thrown);
      this.#trip(error);
      this.#notifyFailed(events.length, error);
      return events.map(() => error);
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
    this.#notifyFailed(errors.length, errors[0]);
    const outage = errors.find(isOutage);
    if (outage !== undefined) this.#trip(outage);
  }

  #notifyFailed(events: number, error: unknown): void {
    this.#notify({ kind: "store_failed", store: this.name, events, error });
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

  #late(): Error {
    return new Error(
      `Cannot reach the ${this.name}: no answer within ${this.#options.timeoutMs} ms`,
    );
  }
}

const NONE = [].values();
const isError = (result: StoreResult): result is Error => result instanceof Error;

function isOutage(error: unknown): boolean {
  return isMillraceError(error) && OUTAGES.has(error.code);
}
