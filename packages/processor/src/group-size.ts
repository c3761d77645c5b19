import type { GroupTrouble } from "@millrace/ledger";

/** How the run of one event of a group went. */
export interface RunReport {
  /** Milliseconds that its handlers ran. */
  readonly ranMs: number;
  readonly failed: boolean;
  readonly trouble?: GroupTrouble | undefined;
}

/** Handlers of a group that mostly take longer than this hold up the others too long. */
const SLOW_MS = 8;
/** What the latest group counts for; one that a busy machine held up is no reason to shrink. */
const LATEST_WEIGHT = 0.25;
/** Handlers of which each takes longer than this, also when few others run, are not worth a try. */
const SLOW_ALONE_MS = 50;
/** Runs alone that are looked at to know the fastest of them. */
const WINDOW = 16;
/** A group waits for one event ten times as long as its type takes, within these bounds. */
const PATIENCE_MS = { min: 50, max: 250 };
/** With a larger share of failures or trouble, groups spend their time undoing. */
const FAILED_SHARE_MAX = 0.2;
/** Calm runs that it takes to grow again after trouble. */
const CALM = { first: 64, max: 2_048 };

/**
 * How many events of a type share a transaction: one at first, twice as many after as many calm runs, half
 * as many after trouble. After each trouble it takes twice as many calm runs to grow again, so that a type
 * which does not suit groups tries one now and then only. A type whose statements reach past a savepoint
 * stays alone for as long as the process lives.
 */
export class GroupSize {
  private readonly max: number;
  private size = 1;
  private isAlone = false;
  private calm = 0;
  private calmNeeded = 1;
  /** Milliseconds that an event takes in a group: the moving average of the groups' medians. */
  private usualMs = 1;
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
    return Math.min(Math.max(10 * this.usualMs, PATIENCE_MS.min), PATIENCE_MS.max);
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

  /** Takes note of the events of this type in one group. */
  noteGroup(reports: readonly RunReport[]): void {
    if (reports.length === 0) return;
    if (reports.some(({ trouble }) => trouble === "unsafe")) this.isAlone = true;
    const times = reports.map(({ ranMs }) => ranMs).toSorted((a, b) => a - b);
    const medianMs = times[Math.floor(times.length / 2)] ?? 0;
    this.usualMs += (medianMs - this.usualMs) * LATEST_WEIGHT;
    const bad = reports.filter(({ failed, trouble }) => failed || trouble !== undefined).length;
    const isContended = reports.some(({ trouble }) => trouble === "contended");
    const isBad = isContended || bad > Math.max(1, reports.length * FAILED_SHARE_MAX);
    if (isBad || this.usualMs > SLOW_MS) this.shrink();
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
