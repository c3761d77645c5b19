import { LazySignal, MillraceError, settlesWithin, type StopSignal } from "@millrace/core";

/**
 * The runs that a process' workers have begun and not ended, and the signals that end them early.
 */
export interface Runs {
  readonly active: number;
  /** Begins a run of a job; an older run of the same job has lost its claim, and is aborted. */
  begin(source: string, jobId: string): Run;
  /** Aborts the run of a job whose lock is lost. True when there was one. */
  abort(source: string, jobId: string): boolean;
  /** Aborts every run, and those that begin from now on. */
  abortAll(): void;
  /** Waits until the last run has ended, or the time is up. True when no run is left. */
  idle(timeoutMs: number): Promise<boolean>;
}

export interface Run {
  readonly signal: StopSignal;
  end(): void;
}

export function createRuns(): Runs {
  const latest = new Map<string, LazySignal>();
  const active = new Set<LazySignal>();
  let stopping = false;
  let onIdle: (() => void)[] = [];

  function end(key: string, controller: LazySignal): void {
    active.delete(controller);
    if (latest.get(key) === controller) latest.delete(key);
    if (active.size > 0) return;
    for (const resolve of onIdle) resolve();
    onIdle = [];
  }

  function abort(key: string): boolean {
    const controller = latest.get(key);
    controller?.abort(new MillraceError("lost_claim", "Cannot continue: the job's lock was lost"));
    return controller !== undefined;
  }

  return {
    get active() {
      return active.size;
    },
    begin: (source, jobId) => {
      const key = `${source}:${jobId}`;
      abort(key);
      const controller = new LazySignal();
      latest.set(key, controller);
      active.add(controller);
      if (stopping) controller.abort(stopped());
      return { signal: controller, end: () => end(key, controller) };
    },
    abort: (source, jobId) => abort(`${source}:${jobId}`),
    abortAll: () => {
      stopping = true;
      for (const controller of active) controller.abort(stopped());
    },
    idle: (timeoutMs) => {
      if (active.size === 0) return Promise.resolve(true);
      return settlesWithin(new Promise<void>((resolve) => onIdle.push(resolve)), timeoutMs);
    },
  };
}

function stopped(): MillraceError {
  return new MillraceError("shutting_down", "Cannot continue: the worker is closing");
}
