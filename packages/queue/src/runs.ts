import { settledWithin, MillraceError } from "@millrace/core";

/** The runs of a process' workers that are on, and the signals that end them early. */
export interface Runs {
  readonly active: number;
  /** Begins a run of a job; an older run of the same job has lost its claim, and is aborted. */
  begin(queue: string, jobId: string): Run;
  /** Aborts the run of a job whose lock is lost. True when there was one. */
  abort(queue: string, jobId: string): boolean;
  /** Aborts every run, and those that begin from now on. */
  abortAll(): void;
  /** Waits until no run is on, or the time is up. True when none is. */
  idle(timeoutMs: number): Promise<boolean>;
}

export interface Run {
  readonly signal: AbortSignal;
  end(): void;
}

export function createRuns(): Runs {
  const latest = new Map<string, AbortController>();
  const on = new Set<AbortController>();
  let stopping = false;
  let heard: (() => void)[] = [];

  function end(key: string, controller: AbortController): void {
    on.delete(controller);
    if (latest.get(key) === controller) latest.delete(key);
    if (on.size > 0) return;
    for (const hear of heard) hear();
    heard = [];
  }

  function abort(key: string): boolean {
    const controller = latest.get(key);
    controller?.abort(new MillraceError("lost_claim", "Cannot go on: the job's lock is lost"));
    return controller !== undefined;
  }

  return {
    get active() {
      return on.size;
    },
    begin: (queue, jobId) => {
      const key = `${queue}:${jobId}`;
      abort(key);
      const controller = new AbortController();
      latest.set(key, controller);
      on.add(controller);
      if (stopping) controller.abort(stopped());
      return { signal: controller.signal, end: () => end(key, controller) };
    },
    abort: (queue, jobId) => abort(`${queue}:${jobId}`),
    abortAll: () => {
      stopping = true;
      for (const controller of on) controller.abort(stopped());
    },
    idle: (timeoutMs) => {
      if (on.size === 0) return Promise.resolve(true);
      return settledWithin(new Promise<void>((resolve) => heard.push(resolve)), timeoutMs);
    },
  };
}

function stopped(): MillraceError {
  return new MillraceError("shutting_down", "Cannot go on: the worker is closing");
}
