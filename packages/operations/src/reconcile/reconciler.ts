import { wait } from "@millrace/core";
import type { EventIdentity, Leader } from "@millrace/ledger";
import { runPass, type PassDeps, type PassOptions, type PassReport } from "./pass.ts";
import type { MendDeps } from "./ports.ts";
import { createRoom } from "./room.ts";

/** The name under which one process at a time leads. */
export const RECONCILER = "reconciler";

/** What the reconciler tells, for logs, metrics and the user's hook. */
export type ReconcilerNotice =
  /** Everything that is pending is about to be compared with these sources' queues. */
  | { readonly kind: "queue_changed"; readonly sources: readonly string[] }
  /** How far a pass has come that takes long. */
  | { readonly kind: "progress"; readonly looked: number; readonly mended: number }
  | ({ readonly kind: "passed"; readonly tookMs: number } & PassReport)
  /** An event was failed whose job the queue had given up. */
  | { readonly kind: "gave_up"; readonly event: EventIdentity; readonly reason: string }
  /** Another process leads. */
  | { readonly kind: "follows" }
  | { readonly kind: "trouble"; readonly error: unknown };

export interface ReconcilerDeps extends MendDeps {
  readonly leader: Pick<Leader, "lead">;
  readonly notify: (notice: ReconcilerNotice) => void;
}

export interface ReconcilerOptions extends Pick<PassOptions, "sources" | "graceMs" | "keysDays"> {
  /** Milliseconds between passes. */
  readonly intervalMs: number;
  /** Milliseconds between looks at everything that is pending. */
  readonly sweepIntervalMs: number;
  /** Jobs of a source that may wait in its queue. */
  readonly queueDepthMax: (source: string) => number;
}

/** What a pass mended at least to be followed by the next one at once. */
const MUCH = 500;
/** The wait after a pass that left events for lack of room: the queues are measured every second. */
const FULL_PAUSE_MS = 1_000;
/** By so much the clocks of workers may differ, whose failed jobs are looked at once. */
const CLOCKS_DIFFER_MS = 30_000;
/** Milliseconds between the signs of life of a pass that takes long. */
const BEAT_MS = 5_000;

/**
 * Keeps ledger and queues in agreement for as long as this process leads: passes, one after the other,
 * until it is closed. A pass that fails is tried again after the interval.
 */
export function createReconciler(
  deps: ReconcilerDeps,
  options: ReconcilerOptions,
): { close(): Promise<void> } {
  const closing = new AbortController();
  const { signal } = closing;
  const state = { lead: undefined, failedSinceMs: 0, sweepAtMs: 0 } as State;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await wait(await turn(deps, { ...options, signal }, state), signal);
    }
  }

  const running = run();
  return {
    close: async () => {
      closing.abort();
      await running;
    },
  };
}

interface State {
  /** Of the lead that this process had last. */
  lead: AbortSignal | undefined;
  failedSinceMs: number;
  sweepAtMs: number;
}

type TurnOptions = ReconcilerOptions & { readonly signal: AbortSignal };

/** One pass, if this process leads; gives the milliseconds until the next. */
async function turn(deps: ReconcilerDeps, options: TurnOptions, state: State): Promise<number> {
  try {
    const lead = await deps.leader.lead();
    if (lead === undefined) {
      state.lead = undefined;
      deps.notify({ kind: "follows" });
      return options.intervalMs;
    }
    // Nobody knows how far the leader before had come.
    if (lead !== state.lead)
      Object.assign(state, { lead, failedSinceMs: 0, sweepAtMs: nextSweep(options) });
    await deps.queues.ping();
    return await lookAndTell(deps, options, state);
  } catch (error) {
    if (!options.signal.aborted) deps.notify({ kind: "trouble", error });
    return options.intervalMs;
  }
}

async function lookAndTell(
  deps: ReconcilerDeps,
  options: TurnOptions,
  state: State,
): Promise<number> {
  const startedAtMs = Date.now();
  const isSweep = startedAtMs >= state.sweepAtMs;
  const report = await runPass(passDeps(deps, options, state), {
    ...options,
    failedSinceMs: state.failedSinceMs,
    sweepGraceMs: isSweep ? options.sweepIntervalMs : undefined,
  });
  if (isSweep) state.sweepAtMs = nextSweep(options);
  state.failedSinceMs = startedAtMs - CLOCKS_DIFFER_MS - options.graceMs;
  deps.notify({ kind: "passed", tookMs: Date.now() - startedAtMs, ...report });
  if (report.isFull) return Math.min(FULL_PAUSE_MS, options.intervalMs);
  return report.mended >= MUCH ? 0 : options.intervalMs;
}

const nextSweep = ({ sweepIntervalMs }: TurnOptions): number => Date.now() + sweepIntervalMs;

function passDeps(deps: ReconcilerDeps, options: TurnOptions, state: State): PassDeps {
  let beatAtMs = performance.now() + BEAT_MS;
  let isDue = false;
  return {
    ...deps,
    room: createRoom(deps.queues, options.queueDepthMax),
    onGaveUp: (event, reason) => deps.notify({ kind: "gave_up", event, reason }),
    onChanged: (sources) => deps.notify({ kind: "queue_changed", sources }),
    onProgress: (progress) => {
      isDue = performance.now() >= beatAtMs;
      if (isDue) deps.notify({ kind: "progress", ...progress });
    },
    mayGoOn: async () => {
      if (options.signal.aborted || state.lead?.aborted !== false) return false;
      if (!isDue) return true;
      beatAtMs = performance.now() + BEAT_MS;
      return (await deps.leader.lead()) === state.lead;
    },
  };
}
