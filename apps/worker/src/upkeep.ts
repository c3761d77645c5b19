const RETRY_MS = 60_000;

/** Something that is done now and then, for as long as the process lives. */
export interface Chore {
  /** Stops, when the signal aborts, as soon as it can. */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
  /** Milliseconds between the end of one time and the next. */
  readonly everyMs: number;
  readonly onError: (error: unknown) => void;
}

/** Does a chore now, and then again and again; a minute later when it failed. */
export function createUpkeep({ run, everyMs, onError }: Chore): { close(): Promise<void> } {
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let underWay = turn();

  async function turn(): Promise<void> {
    let nextMs = everyMs;
    try {
      await run(closing.signal);
    } catch (error) {
      nextMs = Math.min(everyMs, RETRY_MS);
      if (!closing.signal.aborted) onError(error);
    }
    if (closing.signal.aborted) return;
    timer = setTimeout(() => {
      underWay = turn();
    }, nextMs);
    timer.unref();
  }

  return {
    close: async () => {
      closing.abort();
      clearTimeout(timer);
      await underWay;
    },
  };
}
