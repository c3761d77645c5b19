import { isMillraceError, SERVER_AWAY, wait } from "@millrace/core";

const FIRST_WAIT_MS = 200;
const WAIT_MS_MAX = 2_000;

/** Waits 200 ms to 2 s between tries. @throws other errors at once; the signal's reason */
export async function retryUntilAvailable<T>(
  step: () => Promise<T>,
  waiting: {
    readonly signal: AbortSignal;
    readonly onAway: (error: unknown) => void;
    /** True for errors that also mean an unavailable server, in addition to our own codes. */
    readonly isAway?: (error: unknown) => boolean;
  },
): Promise<T> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, WAIT_MS_MAX)) {
    waiting.signal.throwIfAborted();
    try {
      return await step();
    } catch (error) {
      if (!isAway(error) && waiting.isAway?.(error) !== true) throw error;
      waiting.onAway(error);
    }
    await wait(waitMs, waiting.signal);
  }
}

function isAway(error: unknown): boolean {
  if (isMillraceError(error)) return SERVER_AWAY.has(error.code);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^E[A-Z]{4,}$/.test(code);
}
