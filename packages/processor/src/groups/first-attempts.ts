import type { EventJob, OnEmitted, StopSignal } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { AttemptEnd } from "../handler/attempt-event.ts";
import type { InternalSources } from "../handler/emit.ts";
import { FetchSize } from "./fetch-size.ts";
import type { OpenLog } from "../handler/handler-log.ts";
import { GroupSize } from "./group-size.ts";
import { Unit } from "./group-unit.ts";
import type { AttemptPolicy } from "../job/retry-policy.ts";
import type { Handlers, Plan, SetHandler } from "../handler/run-handlers.ts";
import type { Slots } from "../job/slots.ts";

/** How a first attempt ended, or why there was none. */
export type FirstEnd =
  /** The handlers ran. `recorded`: the ledger has counted the attempt already. */
  | { readonly kind: "ended"; readonly end: AttemptEnd; readonly recorded: boolean }
  /** It is to be recorded and attempted by itself. `ran`: its handlers ran and were undone. */
  | { readonly kind: "record_first"; readonly ran: boolean };

interface Deps {
  readonly ledger: Pick<Ledger["claims"], "attemptGroup">;
  readonly handlers: Handlers;
  readonly openLog: OpenLog;
  readonly slots: Slots;
  /** Aborts when nothing more is begun. */
  readonly draining: StopSignal;
  readonly closing: StopSignal;
  /** Makes a first attempt of an event that shares its transaction with none. */
  readonly attemptAlone: (attempted: Attempted) => Promise<AloneEnd>;
  readonly onGroup: (group: GroupReport) => void;
  readonly internalSources: InternalSources;
  readonly onEmitted: OnEmitted;
}

/** An event whose first attempt is made. */
export interface Attempted {
  readonly job: EventJob;
  readonly policy: AttemptPolicy;
  /** The handlers that run, if the event was checked before. */
  readonly plan: Plan | undefined;
}

export type AloneEnd = FirstEnd & { readonly isUnsafe: boolean };

/** A group whose transaction has ended. */
export interface GroupReport {
  readonly source: string;
  /** Events in it. */
  readonly size: number;
  /** Events whose handlers ran in it, and ran in vain. */
  readonly undone: number;
}

export interface GroupOptions {
  /** Events of a source in one transaction at most; 1 for no groups. */
  readonly sizeMax: (source: string) => number;
  /** Transactions of first attempts at once, when many events wait. More arrivals form a group. */
  readonly transactionsMax: number;
}

/**
 * Milliseconds that a statement of a group waits for a row that another transaction holds; less than a group waits
 * for an event, so that it is known what it waited for.
 */
const LOCK_TIMEOUT_MS = 30;
/** Bytes of bodies in one group, which are all in memory once more when it is finished. */
const BYTES_MAX = 4 * 1024 * 1024;
/** While no more events wait than these, so many transactions run at once. */
const FEW = { events: 4, transactions: 8 };

/** An event that waits for its first attempt. */
export interface Waiting extends Attempted {
  /** The set-based handler of the event, if it has one. */
  readonly setHandler: SetHandler | undefined;
  readonly size: GroupSize;
  resolve(end: FirstEnd): void;
}

/**
 * Makes the first attempts of events: most succeed within milliseconds, and those that wait at the same time
 * share a transaction. What arrives while few others run goes at once and alone. A type that is slow or
 * fails often goes alone, and waits for no other; groups that wait for each other's locks take turns
 * (group-size.ts).
 */
export class FirstAttempts {
  private readonly deps: Deps;
  private readonly options: GroupOptions;
  private readonly sizes = new Map<string, GroupSize>();
  private readonly waiting = new Map<string, Waiting[]>();
  private readonly fetch = new FetchSize();
  private running = 0;
  /** True while a group runs whose type waits for locks when another group runs at the same time. */
  private isSerialRunning = false;
  private isScheduled = false;

  constructor(deps: Deps, options: GroupOptions) {
    this.deps = deps;
    this.options = options;
  }

  /**
   * Events of a source that are worth fetching at once, so that each transaction has a whole group: 0 as long
   * as the source's events mostly go alone. An event that waits here is not there for other workers.
   */
  eventsMax(source: string): number {
    return this.fetch.eventsMax(source, this.options.transactionsMax);
  }

  async attempt({ job, policy, plan }: Attempted): Promise<FirstEnd> {
    const setHandler = this.deps.handlers.setHandlerOf(job.event);
    const size = this.sizeOf(job, setHandler);
    this.fetch.note(job.event, size.current);
    if (size.current === 1) return await this.alone({ job, policy, plan, size });
    return await new Promise((resolve) => {
      const { source } = job.event;
      const queue = this.waiting.get(source) ?? [];
      queue.push({ job, policy, plan, size, setHandler, resolve });
      this.waiting.set(source, queue);
      this.schedule();
    });
  }

  private sizeOf(
    { event: { source, type } }: EventJob,
    setHandler: SetHandler | undefined,
  ): GroupSize {
    const name = `${source}\0${type}`;
    const known = this.sizes.get(name);
    if (known !== undefined) return known;
    // Types come from outside; a sender that invents them without end must not fill the memory.
    if (this.sizes.size >= 1_000) this.sizes.clear();
    const sizeMax = this.options.sizeMax(source);
    // A set takes one savepoint, however many events it has.
    const size = new GroupSize(sizeMax === 1 ? 1 : (setHandler?.set.max ?? sizeMax));
    this.sizes.set(name, size);
    return size;
  }

  // One turn of the event loop gathers what one answer of the queue brought.
  private schedule(): void {
    if (this.isScheduled || !this.mayBegin()) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      while (this.mayBegin()) {
        const group = this.take();
        if (group === undefined) return;
        void this.run(group);
      }
    });
  }

  // While little waits, the machine has time for more transactions, and nobody waits for another's.
  private mayBegin(): boolean {
    const { transactionsMax } = this.options;
    if (this.running < transactionsMax) return true;
    if (this.running >= Math.max(transactionsMax, FEW.transactions)) return false;
    let events = 0;
    for (const queue of this.waiting.values()) events += queue.length;
    return events <= FEW.events;
  }

  /** The next events that share a transaction: those that wait longest, of the source whose turn it is. */
  private take(): Waiting[] | undefined {
    const mayRun = ({ size }: Waiting) => !(this.isSerialRunning && size.isSerial);
    const next = [...this.waiting].find(([, [first]]) => first !== undefined && mayRun(first));
    if (next === undefined) return undefined;
    const [source, queue] = next;
    const group: Waiting[] = [];
    let sizeMax = Infinity;
    let bytes = 0;
    for (const entry of queue) {
      const { current } = entry.size;
      const bodyBytes = entry.job.event.body?.byteLength ?? 0;
      if (group.length > 0 && group.length >= Math.min(sizeMax, current)) break;
      if (group.length > 0 && bytes + bodyBytes > BYTES_MAX) break;
      if (!mayRun(entry)) break;
      group.push(entry);
      sizeMax = Math.min(sizeMax, current);
      bytes += bodyBytes;
    }
    queue.splice(0, group.length);
    // The source goes to the end of the line.
    this.waiting.delete(source);
    if (queue.length > 0) this.waiting.set(source, queue);
    return group;
  }

  private async run(group: readonly Waiting[]): Promise<void> {
    this.running += 1;
    const isSerial = group.some(({ size }) => size.isSerial);
    this.isSerialRunning ||= isSerial;
    let isCounted = true;
    const leave = () => {
      if (isCounted) {
        this.running -= 1;
        if (isSerial) this.isSerialRunning = false;
      }
      isCounted = false;
      if (this.waiting.size > 0) this.schedule();
    };
    try {
      const [only] = group;
      if (group.length > 1) await this.together(group);
      else if (only !== undefined) {
        // A slow event alone holds up no one.
        const timer = setTimeout(leave, only.size.patienceMs);
        only.resolve(await this.alone(only));
        clearTimeout(timer);
      }
    } finally {
      leave();
    }
  }

  private async alone({
    size,
    ...attempted
  }: Attempted & { readonly size: GroupSize }): Promise<FirstEnd> {
    const end = await this.deps.attemptAlone(attempted);
    const ranMs = end.kind === "ended" ? end.end.handlerMs : undefined;
    if (ranMs !== undefined) size.noteAlone(ranMs, { isUnsafe: end.isUnsafe });
    return end;
  }

  private async together(group: readonly Waiting[]): Promise<void> {
    const units = this.unitsOf(group);
    let ends: readonly (readonly FirstEnd[])[];
    try {
      ends = await this.attemptGroup(units);
    } catch {
      // Nothing ran. What is wrong with the database shows when each is recorded.
      ends = units.map(({ waiting }) => waiting.map(() => NOT_RUN));
    }
    units.forEach(({ waiting }, unit) => {
      waiting.forEach(({ resolve }, index) => resolve(ends[unit]?.[index] ?? NOT_RUN));
    });
  }

  /** Each event by itself, but those of one set-based handler together. */
  private unitsOf(group: readonly Waiting[]): readonly Unit[] {
    const sets = new Map<SetHandler, Waiting[]>();
    const units: Unit[] = [];
    for (const waiting of group) {
      const { setHandler } = waiting;
      if (setHandler === undefined) units.push(this.unit([waiting]));
      else {
        const set = sets.get(setHandler) ?? [];
        set.push(waiting);
        sets.set(setHandler, set);
      }
    }
    for (const [{ set }, waiting] of sets) {
      for (let at = 0; at < waiting.length; at += set.max) {
        units.push(this.unit(waiting.slice(at, at + set.max)));
      }
    }
    return units;
  }

  private unit(waiting: readonly Waiting[]): Unit {
    return new Unit(waiting, this.deps);
  }

  private async attemptGroup(units: readonly Unit[]): Promise<readonly (readonly FirstEnd[])[]> {
    const { ledger, slots, draining, closing, onGroup, onEmitted } = this.deps;
    const events = units.flatMap(({ waiting }) => waiting);
    const source = events[0]?.job.event.source ?? "";
    const sizes = new Map(events.map(({ size }) => [size, size.isSerial] as const));
    const release = await slots.acquire(source, draining);
    if (release === undefined) return units.map(({ waiting }) => waiting.map(() => NOT_RUN));
    try {
      const patienceMs = Math.max(...units.map((unit) => unit.patienceMs));
      const limits = {
        statementTimeoutMs: patienceMs,
        lockTimeoutMs: LOCK_TIMEOUT_MS,
        patienceMs,
        stop: closing,
        onEmitted,
      };
      const startedMs = performance.now();
      const ends = await ledger.attemptGroup(units, limits);
      const answers = units.map((unit, index) => unit.answers(ends[index]));
      const startMs = Math.min(...units.map((unit) => unit.beganMs)) - startedMs;
      for (const [size, ranSerially] of sizes) {
        const reports = units.flatMap((unit) => unit.reports(size));
        size.noteGroup(reports, startMs, ranSerially);
      }
      const undone = answers.flat().filter((end) => end.kind === "record_first" && end.ran).length;
      onGroup({ source, size: events.length, undone });
      return answers;
    } finally {
      release();
    }
  }
}

const NOT_RUN: FirstEnd = { kind: "record_first", ran: false };
