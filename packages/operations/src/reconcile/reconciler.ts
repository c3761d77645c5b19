import { wait } from "@millrace/core";
import type { Leader, ServerEpoch } from "@millrace/ledger";
import { createCapacity } from "./capacity.ts";
import { PAGE_MAX, requireStores } from "./compare.ts";
import type { CompareDeps } from "./disagreement.ts";
import {
  mergeReports,
  runPass,
  type PassNotice,
  type PassOptions,
  type PassReport,
} from "./pass.ts";

export const RECONCILER = "reconciler";

export type ReconcilerNotice =
  | PassNotice
  | ({ readonly kind: "passed"; readonly tookMs: number } & PassReport)
  | { readonly kind: "follows" }
  /** A pass failed: over the queue of this source alone, or over all queues. */
  | { readonly kind: "pass_failed"; readonly source?: string; readonly error: unknown };

export interface ReconcilerDeps extends CompareDeps {
  readonly leader: Pick<Leader, "lead" | "leading">;
  readonly notify: (notice: ReconcilerNotice) => void;
}

export interface ReconcilerOptions extends Pick<PassOptions, "sources" | "graceMs" | "keysDays"> {
  readonly intervalMs: number;
  readonly sweepIntervalMs: number;
  readonly queueDepthMax: (source: string) => number;
  /** Pending events read at once. A pass that repaired half of them is followed by the next. */
  readonly pageMax?: number | undefined;
}

/** The pause after a pass that found no capacity: queues are measured every second. */
const FULL_PAUSE_MS = 1_000;
/** The difference of workers' clocks up to which the next pass finds their failed jobs. */
const CLOCK_DIFFERENCE_MS = 30_000;
/** Milliseconds by which an ingress has written its marks: it gathers them for a second. */
const MARKS_MS = 10_000;

interface Group {
  readonly sources: readonly string[];
  /** Since when jobs that ended are compared by the next pass, if only the latest are. */
  readonly endedSinceMs: number;
  readonly sweepAtMs: number;
  /** The time to compare marks of jobs that a changed server may have lost. */
  readonly marksAtMs: number;
}

/** Where a pass over all queues fails, each gets its own, so that one fault holds up no other. */
export class Reconciler {
  readonly #deps: ReconcilerDeps;
  readonly #options: ReconcilerOptions;
  readonly #pageMax: number;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #leadership: AbortSignal | undefined;
  /** One group, and the queues that failed by themselves, each apart. */
  #groups: readonly Group[] = [];
  #server: ServerEpoch | undefined;

  constructor(deps: ReconcilerDeps, options: ReconcilerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#pageMax = options.pageMax ?? PAGE_MAX;
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) await wait(await this.#takeTurn(), signal);
  }

  async #takeTurn(): Promise<number> {
    const { leader, queues, notify } = this.#deps;
    const { sources, intervalMs, sweepIntervalMs } = this.#options;
    try {
      const leadership = await leader.lead();
      if (leadership === undefined) {
        this.#leadership = undefined;
        notify({ kind: "follows" });
        return intervalMs;
      }
      if (leadership !== this.#leadership) {
        this.#leadership = leadership;
        // The progress of the last leader is unknown.
        const sweepAtMs = Date.now() + sweepIntervalMs;
        this.#groups = [{ sources, endedSinceMs: 0, sweepAtMs, marksAtMs: Infinity }];
        this.#server = undefined;
      }
      await queues.ping();
      return await this.#runPasses();
    } catch (error) {
      if (!this.#closing.signal.aborted) notify({ kind: "pass_failed", error });
      return intervalMs;
    }
  }

  async #runPasses(): Promise<number> {
    const { intervalMs } = this.#options;
    const startedAtMs = Date.now();
    const passed: Group[] = [];
    const failed: { readonly group: Group; readonly error: unknown }[] = [];
    const reports: PassReport[] = [];
    const left = [...this.#groups];
    for (let group = left.shift(); group !== undefined; group = left.shift()) {
      try {
        const report = await this.#runPass(group);
        reports.push(report);
        passed.push(this.#after(group, report, startedAtMs));
      } catch (error) {
        if (!this.#mayGoOn()) throw error;
        await requireStores(this.#deps);
        const { sources } = group;
        if (sources.length === 1) failed.push({ group, error });
        else left.unshift(...sources.map((source) => ({ ...group, sources: [source] })));
      }
    }
    // A fault of all queues is not the fault of one.
    if (passed.length === 0) throw failed[0]?.error;
    this.#groups = [mergeGroups(passed), ...failed.map(({ group }) => group)];
    for (const { group, error } of failed) {
      this.#deps.notify({ kind: "pass_failed", source: group.sources[0] ?? "", error });
    }
    const report = mergeReports(reports);
    this.#server = report.server;
    this.#deps.notify({ kind: "passed", tookMs: Date.now() - startedAtMs, ...report });
    if (report.isFull) return Math.min(FULL_PAUSE_MS, intervalMs);
    return report.repaired >= this.#pageMax / 2 ? 0 : intervalMs;
  }

  #runPass({ sources, endedSinceMs, sweepAtMs, marksAtMs }: Group): Promise<PassReport> {
    const nowMs = Date.now();
    const deps = {
      ...this.#deps,
      capacity: createCapacity(this.#deps.queues, this.#options.queueDepthMax),
      jobsMax: Math.ceil(this.#pageMax / 4),
      mayGoOn: () => this.#mayGoOn(),
    };
    return runPass(deps, {
      ...this.#options,
      ...{ sources, endedSinceMs },
      sweepGraceMs: nowMs >= sweepAtMs ? this.#options.sweepIntervalMs : undefined,
      recheckEnqueued: nowMs >= marksAtMs,
    });
  }

  #after(group: Group, report: PassReport, startedAtMs: number): Group {
    const { sweepIntervalMs, graceMs } = this.#options;
    const isSwept = startedAtMs >= group.sweepAtMs;
    const isDoubtful = report.changed || !isSameServer(report.server, this.#server);
    const marksAtMs = startedAtMs >= group.marksAtMs ? Infinity : group.marksAtMs;
    return {
      sources: group.sources,
      endedSinceMs: startedAtMs - CLOCK_DIFFERENCE_MS - graceMs,
      sweepAtMs: isSwept ? Date.now() + sweepIntervalMs : group.sweepAtMs,
      marksAtMs: isDoubtful ? Date.now() + MARKS_MS : marksAtMs,
    };
  }

  #mayGoOn(): boolean {
    const isOver = this.#closing.signal.aborted;
    return !isOver && this.#deps.leader.leading && this.#leadership?.aborted === false;
  }
}

/** True when no commit can have been lost in between. */
function isSameServer(one: ServerEpoch, other: ServerEpoch | undefined): boolean {
  return one.startedAtMs === other?.startedAtMs && one.timeline === other.timeline;
}

/** One comparison for all queues, as far back as the one that needs it most. */
function mergeGroups(groups: readonly Group[]): Group {
  return {
    sources: groups.flatMap(({ sources }) => sources),
    endedSinceMs: Math.min(...groups.map(({ endedSinceMs }) => endedSinceMs)),
    sweepAtMs: Math.min(...groups.map(({ sweepAtMs }) => sweepAtMs)),
    marksAtMs: Math.min(...groups.map(({ marksAtMs }) => marksAtMs)),
  };
}
