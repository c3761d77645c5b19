import type { GroupTrouble } from "@millrace/ledger";

/** How the run of one event of a group went. */
export interface RunReport {
  /** Milliseconds that its handlers ran. */
  readonly ranMs: number;
  readonly failed: boolean;
  /** True when its handlers sent one query at most. */
  readonly sentOneQuery?: boolean;
  readonly trouble?: GroupTrouble | undefined;
}

/** Handlers of a group that mostly take longer than this hold up the others too long. */
const SLOW_MS = 8;
/** Runs in a row with one query at most, after one with more, until the next handlers begin early again. */
const ONE_QUERY_RUNS = 64;
/** What the latest group counts for; one that a busy machine held up is no reason to shrink. */
const LATEST_WEIGHT = 0.25;
/** Handlers of which each takes longer than this, also when few others run, are not worth a try. */
const SLOW_ALONE_MS = 50;
/** Runs alone that are looked at to know the fastest of them. */
const WINDOW = 16;
/**
 * A group waits for one event ten times as long as its type takes, and twice as long as groups take to begin,
 * within these bounds.
 */
const PATIENCE_MS = { min: 50, max: 250 };
/** With a larger share of failures or trouble, groups spend their time undoing. */
const FAILED_SHARE_MAX = 0.2;
/** Calm runs that it takes to grow again after trouble. */
const CALM = { first: 64, max: 2_048 };
/** Calm runs that it takes until groups of a type that waited for locks run at the same time again. */
const SERIAL_CALM = { first: 2_000, max: 64_000 };

/**
 * How many events of a type share a transaction: one at first, twice as many after as many calm runs, half
 * as many after trouble. After each trouble it takes twice as many calm runs to grow again, so that a type
 * which does not suit groups tries one now and then only. A type whose statements reach past a savepoint
 * stays alone for as long as the process lives.
 *
 * Groups that wait for each other's rows run one after the other for a while (`isSerial`): all rows of a group
 * are locked until its COMMIT, but within one transaction nobody waits. Only if a type waits for locks even then
 * is its size halved, because another process holds them.
 */
export class GroupSize {
  private readonly max: number;
  private size = 1;
  private isAlone = false;
  private calm = 0;
  private calmNeeded = 1;
  /** Milliseconds that an event takes in a group: the moving average of the groups' medians. */
  private usualMs = 1;
  /** Milliseconds that a group takes to begin: the moving average. On a busy machine, all takes long. */
  private usualStartMs = 0;
  private oneQueryRuns = ONE_QUERY_RUNS;
  private serialRuns = 0;
  private serialNeeded = SERIAL_CALM.first / 2;
  private runsAlone = 0;
  private fastestMs = Infinity;
  private fastestNowMs = Infinity;

  constructor(max: number) {
    this.max = max;
  }

  /** Events that may share a transaction. */
  get current(): number {
    return this.isAlone ? 1 : Math.min(this.size, this.max);
  }

  /** Milliseconds that a group waits for one event of this type. */
  get patienceMs(): number {
    const { min, max } = PATIENCE_MS;
    return Math.min(Math.max(10 * this.usualMs, 2 * this.usualStartMs, min), max);
  }

  /** True while handlers of this type send one query at most. */
  get sendsOneQuery(): boolean {
    return this.oneQueryRuns >= ONE_QUERY_RUNS;
  }

  /** True while groups of this type run one after the other. */
  get isSerial(): boolean {
    return this.serialRuns > 0;
  }

  /**
   * Takes note of an event that shared its transaction with none. Alone, its time is mostly that of the
   * others that run at once, so the fastest of some tells.
   */
  noteAlone(ranMs: number, { isUnsafe }: { readonly isUnsafe: boolean }): void {
    this.fastestNowMs = Math.min(this.fastestNowMs, ranMs);
    this.runsAlone += 1;
    if (this.runsAlone % WINDOW === 1) {
      this.fastestMs = this.fastestNowMs;
      this.fastestNowMs = Infinity;
    }
    if (isUnsafe) this.isAlone = true;
    else if (this.fastestMs <= SLOW_ALONE_MS) this.grow(1);
  }

  /**
   * Takes note of the events of this type in one group. `startMs` is what the group took to begin: a handler
   * is slow if it takes long, and longer than that. `ranSerially`: no other group of the type ran meanwhile; those
   * that ran when the first one met a lock have met it too.
   */
  noteGroup(reports: readonly RunReport[], startMs: number, ranSerially: boolean): void {
    if (reports.length === 0) return;
    this.usualStartMs += (startMs - this.usualStartMs) * LATEST_WEIGHT;
    const sentMore = reports.some(({ sentOneQuery }) => sentOneQuery === false);
    this.oneQueryRuns = sentMore ? 0 : this.oneQueryRuns + reports.length;
    if (reports.some(({ trouble }) => trouble === "unsafe")) this.isAlone = true;
    const times = reports.map(({ ranMs }) => ranMs).toSorted((a, b) => a - b);
    const medianMs = times[Math.floor(times.length / 2)] ?? 0;
    this.usualMs += (medianMs - this.usualMs) * LATEST_WEIGHT;
    const bad = reports.filter(({ failed, trouble }) => failed || trouble !== undefined).length;
    const isContended = reports.some(({ trouble }) => trouble === "contended");
    if (isContended && !ranSerially) {
      if (!this.isSerial) this.serialNeeded = Math.min(this.serialNeeded * 2, SERIAL_CALM.max);
      this.serialRuns = this.serialNeeded;
      return;
    }
    this.serialRuns = isContended
      ? this.serialNeeded
      : Math.max(0, this.serialRuns - reports.length);
    const isBad = isContended || bad > Math.max(1, reports.length * FAILED_SHARE_MAX);
    if (isBad || this.usualMs > Math.max(SLOW_MS, this.usualStartMs)) this.shrink();
    else this.grow(reports.length);
  }

  private shrink(): void {
    this.size = Math.max(1, Math.floor(this.size / 2));
    this.calm = 0;
    this.calmNeeded = Math.min(Math.max(this.calmNeeded * 2, CALM.first), CALM.max);
  }

  private grow(runs: number): void {
    if (this.size >= this.max) return;
    this.calm += runs;
    if (this.calm < Math.max(this.calmNeeded, this.size)) return;
    this.calm = 0;
    this.calmNeeded = Math.max(1, this.calmNeeded / 2);
    this.size *= 2;
  }
}
