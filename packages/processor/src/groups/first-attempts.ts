import type { StopSignal } from "@millrace/core";
import type { AttemptEnd as LedgerEnd, Ledger } from "@millrace/ledger";
import {
  attemptFirst,
  AttemptSignal,
  type AttemptDeps,
  type AttemptEnd,
} from "../handler/run-attempt.ts";
import { FetchSize, GroupSize } from "./group-size.ts";
import { HandlerUnit, type Attempted, type Waiting } from "./handler-unit.ts";
import type { SetHandler } from "../handler/run-handlers.ts";
import type { Slots } from "../job/slots.ts";

interface Deps extends AttemptDeps {
  readonly ledger: Pick<Ledger["claims"], "attempt" | "attemptFirst" | "attemptGroup">;
  readonly slots: Slots;
  readonly draining: StopSignal;
  readonly closing: StopSignal;
}

interface GroupOptions {
  /** Events of a source in one transaction at most; 1 for no groups. */
  readonly sizeMax: (source: string) => number;
  readonly concurrency: number;
}

/** Milliseconds that a statement of a group waits for a lock; less than a group's patience. */
const LOCK_TIMEOUT_MS = 30;
/** Bytes of bodies in one group, which are all in memory once more when it is finished. */
const BYTES_MAX = 4 * 1024 * 1024;
/** Transactions at once for each of so many handlers, when many events wait: they form groups. */
const CONCURRENCY_PER_TRANSACTION = 25;
const TRANSACTIONS_MIN = 2;
/** Times that an event is undone because of others before it is attempted alone. */
const UNDONE_MAX = 2;
/** While no more events wait than these, so many transactions run at once. */
const FEW = { events: 4, transactions: 8 };

/** The events of a source that wait, and the milliseconds that its transactions have taken. */
interface SourceQueue {
  waiting: Waiting[];
  usedMs: number;
}

/**
 * First attempts that wait at the same time share a transaction. An event that arrives while few
 * others run starts at once and alone, and a type that is slow, or mostly fails, runs alone.
 * The next transaction goes to the source whose transactions have taken the least time: a source
 * with small groups, or whose handlers are slow, costs only itself.
 */
export class FirstAttempts {
  readonly #deps: Deps;
  readonly #options: GroupOptions;
  readonly #transactions: number;
  readonly #sizes = new Map<string, GroupSize>();
  readonly #queues = new Map<string, SourceQueue>();
  readonly #fetch = new FetchSize();
  /** The time of the source that was served last: one that begins to wait has no more to spare. */
  #servedMs = 0;
  #running = 0;
  #isSerialRunning = false;
  #isScheduled = false;

  constructor(deps: Deps, options: GroupOptions) {
    this.#deps = deps;
    this.#options = options;
    const wanted = Math.ceil(options.concurrency / CONCURRENCY_PER_TRANSACTION);
    this.#transactions = Math.max(TRANSACTIONS_MIN, wanted);
  }

  /** Events of a source worth fetching at once; 0 while they mostly run alone. */
  eventsMax(source: string): number {
    return this.#fetch.eventsMax(source, this.#transactions);
  }

  async attempt(attempted: Attempted): Promise<AttemptEnd> {
    const { event } = attempted.job;
    const setHandler = this.#deps.handlers.setHandlerOf(event);
    const size = this.#sizeOf(event, setHandler);
    this.#fetch.note(event, size.current);
    if (size.current === 1 && !size.isSerial) return await this.#runSingle(attempted, size);
    return await new Promise((resolve) => {
      this.#wait({ ...attempted, size, setHandler, undone: 0, resolve });
    });
  }

  #wait(entry: Waiting): void {
    const { source } = entry.job.event;
    const queue = this.#queues.get(source) ?? { waiting: [], usedMs: 0 };
    this.#queues.set(source, queue);
    if (queue.waiting.length === 0) queue.usedMs = Math.max(queue.usedMs, this.#servedMs);
    queue.waiting.push(entry);
    this.#schedule();
  }

  #sizeOf({ source, type }: Attempted["job"]["event"], setHandler: SetHandler | undefined) {
    const name = `${source}\0${type}`;
    const known = this.#sizes.get(name);
    if (known !== undefined) return known;
    // A sender that invents types without end must not fill the memory.
    if (this.#sizes.size >= 1_000) this.#sizes.clear();
    const sizeMax = this.#options.sizeMax(source);
    // A set takes one savepoint, however many events it has.
    const size = new GroupSize(sizeMax === 1 ? 1 : (setHandler?.set.max ?? sizeMax));
    this.#sizes.set(name, size);
    return size;
  }

  // One turn of the event loop gathers the events of one answer of the queue.
  #schedule(): void {
    if (this.#isScheduled || this.#startable() === undefined) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      for (let queue = this.#startable(); queue !== undefined; queue = this.#startable()) {
        void this.#run(this.#takeGroup(queue), queue);
      }
    });
  }

  // While few events wait, the machine has time for more transactions.
  #startable(): SourceQueue | undefined {
    const queue = this.#next();
    const first = queue?.waiting.find(this.#canRun);
    if (first === undefined) return undefined;
    if (this.#running < this.#transactionsOf(first.size)) return queue;
    if (this.#running >= FEW.transactions) return undefined;
    let events = 0;
    for (const { waiting } of this.#queues.values()) events += waiting.length;
    return events <= FEW.events ? queue : undefined;
  }

  #transactionsOf({ transactions }: GroupSize): number {
    return Math.max(this.#transactions, Math.min(transactions, this.#options.concurrency));
  }

  #next(): SourceQueue | undefined {
    let next: SourceQueue | undefined;
    for (const queue of this.#queues.values()) {
      const isNext = next === undefined || queue.usedMs < next.usedMs;
      if (isNext && queue.waiting.some(this.#canRun)) next = queue;
    }
    return next;
  }

  readonly #canRun = ({ size }: Waiting): boolean => !(this.#isSerialRunning && size.isSerial);

  /** Types with small groups, and events that do not fit, stay in front for the next group. */
  #takeGroup(queue: SourceQueue): Waiting[] {
    const group: Waiting[] = [];
    const left: Waiting[] = [];
    let sizeMax = Infinity;
    let bytes = 0;
    for (const entry of queue.waiting) {
      const { current } = entry.size;
      const bodyBytes = entry.job.event.body?.byteLength ?? 0;
      const fits = group.length < Math.min(sizeMax, current) && bytes + bodyBytes <= BYTES_MAX;
      if ((group.length > 0 && !fits) || !this.#canRun(entry)) left.push(entry);
      else {
        group.push(entry);
        sizeMax = Math.min(sizeMax, current);
        bytes += bodyBytes;
      }
    }
    queue.waiting = left;
    this.#servedMs = queue.usedMs;
    return group;
  }

  async #run(group: readonly Waiting[], queue: SourceQueue): Promise<void> {
    this.#running += 1;
    const startedMs = performance.now();
    const isSerial = group.some(({ size }) => size.isSerial);
    this.#isSerialRunning ||= isSerial;
    let isCounted = true;
    const leave = () => {
      if (isCounted) {
        this.#running -= 1;
        queue.usedMs += performance.now() - startedMs;
        if (isSerial) this.#isSerialRunning = false;
      }
      isCounted = false;
      this.#schedule();
    };
    try {
      const [only] = group;
      if (group.length > 1) await this.#runGroup(group);
      else if (only !== undefined) {
        // A slow event that runs alone delays no other.
        const timer = setTimeout(leave, only.size.patienceMs);
        this.#end(only, await this.#runSingle(only, only.size));
        clearTimeout(timer);
      }
    } finally {
      leave();
    }
  }

  async #runSingle(attempted: Attempted, size: GroupSize): Promise<AttemptEnd> {
    const { job, plan } = attempted;
    const { slots, draining, closing } = this.#deps;
    const stop = new AttemptSignal([job.signal, closing]);
    const release = await slots.acquire(job.event.source, draining);
    try {
      if (release === undefined) return NOT_RUN;
      const end = await attemptFirst(job, { stop, plan }, this.#deps);
      if (end.kind !== "record_first" && end.ranMs !== undefined) {
        const isFailed = end.kind === "failed";
        size.noteSingle(end.ranMs, { isFailed, isUnsafe: end.isUnsafe === true });
      }
      return end;
    } finally {
      release?.();
      stop.dispose();
    }
  }

  async #runGroup(group: readonly Waiting[]): Promise<void> {
    const units = this.#toUnits(group);
    const ends = await this.#attemptGroup(units).catch(() => []);
    const entries = units.flatMap((unit) => unit.waiting.map((entry) => ({ unit, entry })));
    entries.forEach(({ unit, entry }, index) =>
      this.#end(entry, unit.endOf(ends[index] ?? NOT_RUN)),
    );
  }

  /** An event that others had undone waits for the next group: alone it would contend more. */
  #end(entry: Waiting, end: AttemptEnd): void {
    const { job, undone, resolve } = entry;
    const { draining, closing } = this.#deps;
    const reason = end.kind === "record_first" ? end.reason : undefined;
    const isUndone = reason === "contended" || reason === "undone";
    const isOver = draining.aborted || closing.aborted || job.signal.aborted;
    if (isUndone && undone < UNDONE_MAX && !isOver) {
      this.#wait({ ...entry, undone: undone + 1 });
      return;
    }
    const hasRun = end.kind === "record_first" && undone > 0;
    resolve(hasRun ? { reason: "undone", ...end } : end);
  }

  #toUnits(group: readonly Waiting[]): readonly HandlerUnit[] {
    const sets = new Map<SetHandler, Waiting[]>();
    const parts: (readonly Waiting[])[] = [];
    for (const waiting of group) {
      const { setHandler } = waiting;
      if (setHandler === undefined) parts.push([waiting]);
      else {
        const set = sets.get(setHandler) ?? [];
        set.push(waiting);
        sets.set(setHandler, set);
      }
    }
    for (const [{ set }, waiting] of sets) {
      for (let at = 0; at < waiting.length; at += set.max) {
        parts.push(waiting.slice(at, at + set.max));
      }
    }
    return parts.map((waiting) => new HandlerUnit(waiting, this.#deps));
  }

  async #attemptGroup(units: readonly HandlerUnit[]): Promise<readonly LedgerEnd[]> {
    const { ledger, slots, draining, closing, notify, onEmitted } = this.#deps;
    const events = units.flatMap(({ waiting }) => waiting);
    const source = events[0]?.job.event.source ?? "";
    const sizes = new Map(events.map(({ size }) => [size, size.isSerial] as const));
    const release = await slots.acquire(source, draining);
    if (release === undefined) return [];
    try {
      const transactions = Math.max(...events.map(({ size }) => this.#transactionsOf(size)));
      const patienceMs = Math.max(...units.map((unit) => unit.patienceMs));
      const limits = {
        statementTimeoutMs: patienceMs,
        lockTimeoutMs: LOCK_TIMEOUT_MS,
        patienceMs,
        ahead: Math.max(0, Math.floor(this.#options.concurrency / transactions) - 1),
        hasSavepoints: events.some(({ size }) => size.needsSavepoint),
        stop: closing,
        onEmitted,
      };
      const calledMs = performance.now();
      const ends = await ledger.attemptGroup(units, limits);
      const isAllUndone = !limits.hasSavepoints && ends.some(({ held }) => held?.isUndone);
      const startMs = Math.min(...units.map((unit) => unit.startedMs)) - calledMs;
      for (const [size, ranSerially] of sizes) {
        const own = ends.filter((_, index) => events[index]?.size === size);
        if (isAllUndone) size.noteUndone(own);
        else size.noteGroup(own, startMs, ranSerially);
      }
      const undone = ends.filter((end) => end.kind === "record_first" && end.reason).length;
      notify({ kind: "group_ended", source, size: events.length, undone });
      return ends;
    } finally {
      release();
    }
  }
}

const NOT_RUN = { kind: "record_first" } as const;
