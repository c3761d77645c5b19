export interface RememberOptions {
  /** Milliseconds that a result is shared for at least. */
  readonly leastMs: number;
  /** And for this many times what the call took, so that a costly one is not made all the time. */
  readonly timesTaken: number;
}

/** Results by key; the oldest is forgotten first. */
const KEYS_MAX = 100;

/**
 * Shares the result of a costly call among all who ask for the same meanwhile. A failure is shared for as
 * long as the call took: one that ran into a timeout is not made again at once.
 */
export function rememberBriefly<T>(
  { leastMs, timesTaken }: RememberOptions,
  call: (key: string) => Promise<T>,
): (key?: string) => Promise<T> {
  const memories = new Map<string, { readonly result: Promise<T>; untilMs: number }>();
  return (key = "") => {
    const last = memories.get(key);
    if (last !== undefined && last.untilMs > Date.now()) return last.result;
    const mine = { startedMs: Date.now(), result: call(key), untilMs: Infinity };
    memories.delete(key);
    memories.set(key, mine);
    const [oldest] = memories.keys();
    if (memories.size > KEYS_MAX && oldest !== undefined) memories.delete(oldest);
    void limit(mine, { leastMs, timesTaken });
    return mine.result;
  };
}

async function limit(
  memory: { readonly startedMs: number; readonly result: Promise<unknown>; untilMs: number },
  { leastMs, timesTaken }: RememberOptions,
): Promise<void> {
  const { startedMs } = memory;
  try {
    await memory.result;
    const tookMs = Date.now() - startedMs;
    memory.untilMs = Date.now() + Math.max(leastMs, tookMs * timesTaken);
  } catch {
    memory.untilMs = Date.now() + (Date.now() - startedMs);
  }
}
