import type { EnvelopedEvent } from "@millrace/core";
import type { AttemptEnd } from "@millrace/ledger";

/** Events that the others wait for longer go alone: than this, and than so many usual starts. */
const HELD = { ms: 8, starts: 8 };
/** Waits behind a first query leave the machine idle: one more transaction at once for each. */
const HELD_MS_EACH = 0.3;
/** Runs in a row with one query at most until the next handlers begin early again. */
const ONE_QUERY_RUNS = 64;
/** Runs in a row of which none was undone until a type goes without savepoints. */
const SAFE_RUNS = 1_000;
/** The weight of the latest group: a busy moment of the machine must not shrink the size. */
const LATEST_WEIGHT = 0.25;
/** Types whose fastest single run is slower than this form no groups. */
const SLOW_SINGLE_MS = 50;
/** The fastest run is forgotten by so much with each later one. */
const FASTEST_GROWTH = 1 + 1 / 16;
/** Bounds of a group's wait for one event: ten times its usual time, or twice the usual start. */
const PATIENCE_MS = { min: 50, max: 250 };
/** With a larger share of events that are undone, groups spend their time undoing. */
const UNDONE_SHARE_MAX = 0.2;
/**
 * Shares of failed events above which a type goes alone, and below which in groups again. With
 * 40 %, an event in a group costs a fifth less CPU than alone; with 70 %, as much.
 */
const FAILED_SHARE = { alone: 0.6, grouped: 0.5, weight: 1 / 128 };
const CALM = { first: 64, max: 2_048 };
/** Calm runs before groups of a type that waited for locks run at the same time again. */
const SERIAL_CALM = { first: 2_000, max: 64_000 };

/**
 * The number of events of a type that share a transaction: one at first, twice as many after as
 * many calm runs, half as many after trouble, which also doubles the calm runs needed. A type whose
 * statements reach past a savepoint runs alone until the process ends, and one that mostly fails
 * until it fails less. Groups that wait for locks, or for slow queries, run one after the other for
 * a while (`isSerial`). If that does not help, another process holds the locks, or the queries are
 * slow, and the size is halved.
 */
export class GroupSize {
  readonly #max: number;
  #size = 1;
  #isSingle = false;
  #failedShare = 0;
  #failsOften = false;
  /** True once its queries have taken long in a turn of their own. */
  #isSlow = false;
  #calm = 0;
  #calmNeeded = 1;
  /** Milliseconds of an event in a group: the moving average of the groups' medians. */
  #usualMs = 1;
  #usualHeldMs = 0;
  #usualHeldBehindQueryMs = 0;
  #usualStartMs = 0;
  #oneQueryRuns = ONE_QUERY_RUNS;
  #safeRuns = 0;
  #serialRuns = 0;
  #serialNeeded = SERIAL_CALM.first / 2;
  #fastestMs = Infinity;

  constructor(max: number) {
    this.#max = max;
  }

  get current(): number {
    return this.#isSingle || this.#failsOften ? 1 : Math.min(this.#size, this.#max);
  }

  get patienceMs(): number {
    const { min, max } = PATIENCE_MS;
    return Math.min(Math.max(10 * this.#usualMs, 2 * this.#usualStartMs, min), max);
  }

  /** Transactions that its events need at once to keep the machine busy. */
  get transactions(): number {
    return Math.ceil(this.#usualHeldBehindQueryMs / HELD_MS_EACH);
  }

  get sendsOneQuery(): boolean {
    return this.#oneQueryRuns >= ONE_QUERY_RUNS;
  }

  get needsSavepoint(): boolean {
    return this.#safeRuns < SAFE_RUNS;
  }

  get isSerial(): boolean {
    return this.#serialRuns > 0;
  }

  /** Notes an event that ran alone, of which the fastest of several counts: others slow it down. */
  noteSingle(
    ranMs: number,
    { isFailed, isUnsafe }: { readonly isFailed: boolean; readonly isUnsafe: boolean },
  ): void {
    this.#noteFailed(isFailed ? 1 : 0, 1);
    this.#fastestMs = Math.min(this.#fastestMs * FASTEST_GROWTH, ranMs);
    this.#serialRuns = Math.max(0, this.#serialRuns - 1);
    if (isUnsafe) this.#isSingle = true;
    else if (this.#fastestMs <= SLOW_SINGLE_MS) this.#grow(1);
  }

  /** @param startMs - the time until the group began; slow handlers take longer than that. */
  noteGroup(all: readonly AttemptEnd[], startMs: number, ranSerially: boolean): void {
    const ends = all.filter(({ ranMs }) => ranMs !== undefined);
    if (ends.length === 0) return;
    this.#usualStartMs += (startMs - this.#usualStartMs) * LATEST_WEIGHT;
    const sentMore = ends.some(({ held }) => held?.sentOneQuery === false);
    this.#oneQueryRuns = sentMore ? 0 : this.#oneQueryRuns + ends.length;
    this.#safeRuns = ends.some(wasUndone) ? 0 : this.#safeRuns + ends.length;
    const reasons = ends.map((end) => (end.kind === "record_first" ? end.reason : undefined));
    if (reasons.includes("unsafe")) this.#isSingle = true;
    const follow = (usual: number, ofEnd: (end: AttemptEnd) => number | undefined) => {
      const each = ends.map((end) => (ofEnd(end) ?? 0) / (end.held?.events ?? 1));
      return usual + (median(each) - usual) * LATEST_WEIGHT;
    };
    this.#usualMs = follow(this.#usualMs, ({ ranMs }) => ranMs);
    this.#usualHeldMs = follow(this.#usualHeldMs, ({ held }) => held?.ms);
    this.#usualHeldBehindQueryMs = follow(
      this.#usualHeldBehindQueryMs,
      ({ held }) => held?.behindQueryMs,
    );
    this.#noteFailed(ends.filter(({ kind }) => kind === "failed").length, ends.length);
    const undone = reasons.filter((reason) => reason !== undefined).length;
    const isContended = reasons.includes("contended");
    const heldMsMax = Math.max(HELD.ms, HELD.starts * this.#usualStartMs);
    // Queries that take long may wait for locks: a turn of its own shows it.
    const isWaiting = this.#usualHeldBehindQueryMs > heldMsMax;
    if ((isContended || (isWaiting && !this.#isSlow)) && !ranSerially) {
      if (!this.isSerial) this.#serialNeeded = Math.min(this.#serialNeeded * 2, SERIAL_CALM.max);
      this.#serialRuns = this.#serialNeeded;
      this.#usualHeldMs = this.#usualHeldBehindQueryMs = 0;
      return;
    }
    if (isContended) this.#serialRuns = this.#serialNeeded;
    else if (isWaiting) {
      this.#isSlow = true;
      this.#serialRuns = 0;
    } else this.#serialRuns = Math.max(0, this.#serialRuns - ends.length);
    const isBad = isContended || undone > Math.max(1, ends.length * UNDONE_SHARE_MAX);
    if (isBad || this.#usualHeldMs > heldMsMax) this.#shrink();
    else this.#grow(ends.length);
  }

  /** Notes a group without savepoints of which one event undid all, whatever the size. */
  noteUndone(ends: readonly AttemptEnd[]): void {
    if (ends.some(wasUndone)) this.#safeRuns = 0;
  }

  #noteFailed(failed: number, of: number): void {
    const { alone, grouped, weight } = FAILED_SHARE;
    const kept = (1 - weight) ** of;
    this.#failedShare = kept * this.#failedShare + (1 - kept) * (failed / of);
    this.#failsOften = this.#failedShare > (this.#failsOften ? grouped : alone);
  }

  #shrink(): void {
    this.#size = Math.max(1, Math.floor(this.#size / 2));
    this.#calm = 0;
    this.#calmNeeded = Math.min(Math.max(this.#calmNeeded * 2, CALM.first), CALM.max);
  }

  #grow(runs: number): void {
    if (this.#size >= this.#max) return;
    this.#calm += runs;
    if (this.#calm < Math.max(this.#calmNeeded, this.#size)) return;
    this.#calm = 0;
    this.#calmNeeded = Math.max(1, this.#calmNeeded / 2);
    this.#size *= 2;
  }
}

const wasUndone = ({ held }: AttemptEnd) => held?.isUndone === true;

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Bytes of bodies that are fetched at once. Most of them wait for their transaction. */
const FETCH_BYTES_MAX = 16 * 1024 * 1024;
const EVENT_WEIGHT = 1 / 64;
/** With usual groups larger than this, an event waits only a few milliseconds for its handlers. */
const FETCH_SIZE_MIN = 12;

export class FetchSize {
  readonly #usual = new Map<string, { groupSize: number; bytes: number }>();

  note({ source, body }: EnvelopedEvent, groupSize: number): void {
    let usual = this.#usual.get(source);
    if (usual === undefined) this.#usual.set(source, (usual = { groupSize: 0, bytes: 0 }));
    usual.groupSize += (groupSize - usual.groupSize) * EVENT_WEIGHT;
    usual.bytes += ((body?.byteLength ?? 0) - usual.bytes) * EVENT_WEIGHT;
  }

  eventsMax(source: string, transactions: number): number {
    const usual = this.#usual.get(source);
    if (usual === undefined || usual.groupSize < FETCH_SIZE_MIN) return 0;
    const eventsMax = transactions * Math.round(usual.groupSize);
    return Math.min(eventsMax, Math.floor(FETCH_BYTES_MAX / Math.max(usual.bytes, 1)));
  }
}
