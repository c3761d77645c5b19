import { type ErrorCode, MillraceError } from "@millrace/core";
import { type Death, type Launch, runChild } from "./run-child.ts";
import type { ChildProcess } from "node:child_process";

export interface ChildHooks {
  /** It listens, for the first time or again. */
  onListening(port: number, pid: number): void;
  /** It died, and is started again after `waitMs`. */
  onRestart(reason: string, waitMs: number): void;
}

export interface ChildTimes {
  /** Milliseconds before the first restart; each further one waits twice as long. */
  readonly backoffFirstMs: number;
  /** Milliseconds that no wait exceeds. */
  readonly backoffMaxMs: number;
  /** Milliseconds a process must have lived to be started again as if for the first time. */
  readonly steadyMs: number;
}

export interface SupervisedChild {
  /** Resolves when it first listens. */
  readonly listening: Promise<void>;
  /** Resolves with its own error when it is given up. */
  readonly givenUp: Promise<MillraceError>;
  /** SIGTERM, then SIGKILL after `deadlineMs`; resolves when it is gone for good. */
  stop(deadlineMs: number): Promise<void>;
  /** SIGKILL, and no restart. */
  kill(): void;
}

/** Early deaths without a reason after which a process that never ran well is not tried any more. */
const EARLY_DEATHS_MAX = 3;

/**
 * Keeps one process alive: when it dies it is started again, after a wait that grows. One that never
 * ran well is given up when it says why it cannot run (a config that is wrong, say), or when it dies
 * three times in a row without a word.
 */
export function superviseChild(
  name: string,
  launch: Launch,
  hooks: ChildHooks,
  times: ChildTimes,
): SupervisedChild {
  const stopping = new AbortController();
  const listening = deferred<void>();
  const givenUp = deferred<MillraceError>();
  let child: ChildProcess | undefined;

  const life = {
    onLaunched: (launched: ChildProcess) => {
      child = launched;
      if (stopping.signal.aborted) child.kill("SIGTERM");
    },
    onListening: (port: number, pid: number) => {
      listening.resolve();
      hooks.onListening(port, pid);
    },
  };

  async function live(): Promise<void> {
    let refusals = 0;
    let ranWell = false;
    let waitMs = times.backoffFirstMs;
    while (!stopping.signal.aborted) {
      const death = await runChild(launch, life);
      if (stopping.signal.aborted) return;
      if (death.livedMs >= times.steadyMs) {
        ranWell = true;
        waitMs = times.backoffFirstMs;
      }
      refusals = isRefusal(death) ? refusals + 1 : 0;
      if (!ranWell && (isFinal(death) || refusals >= EARLY_DEATHS_MAX)) {
        givenUp.resolve(death.error ?? withoutAWord(name, death.reason));
        return;
      }
      hooks.onRestart(death.error?.message ?? death.reason, waitMs);
      await pause(waitMs, stopping.signal);
      waitMs = Math.min(waitMs * 2, times.backoffMaxMs);
    }
  }
  const gone = live();

  return {
    listening: listening.promise,
    givenUp: givenUp.promise,
    async stop(deadlineMs) {
      stopping.abort();
      child?.kill("SIGTERM");
      const deadline = setTimeout(() => child?.kill("SIGKILL"), deadlineMs);
      await gone;
      clearTimeout(deadline);
    },
    kill() {
      stopping.abort();
      child?.kill("SIGKILL");
    },
  };
}

/** A death that the next start will die too, as far as one can tell. */
function isRefusal({ error, hadListened }: Death): boolean {
  return error === undefined ? !hadListened : !isPassing(error);
}

/** It said why, and trying again would only say it again. */
function isFinal({ error }: Death): boolean {
  return error !== undefined && error.code !== "internal" && !isPassing(error);
}

function withoutAWord(name: string, reason: string): MillraceError {
  return new MillraceError(
    "internal",
    `Cannot start ${name}: ${reason}, ${EARLY_DEATHS_MAX} times over`,
  );
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish, { once: true });
    function finish(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    }
  });
}

function deferred<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => (resolve = settle));
  return { promise, resolve };
}

const PASSING: ReadonlySet<ErrorCode> = new Set([
  "database_unreachable",
  "database_unavailable",
  "database_read_only",
  "redis_unreachable",
  "redis_not_writing",
  "port_in_use",
  "shutting_down",
]);

/** Whether a process that died of this may well live when it is started again. */
function isPassing(error: MillraceError): boolean {
  return PASSING.has(error.code);
}
