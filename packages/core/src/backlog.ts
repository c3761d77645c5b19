import { settlesWithin, wait } from "./deadline.ts";

interface BacklogOptions<Item> {
  readonly batchMax: number;
  /** Items, and bytes of them, that may wait. More is dropped. */
  readonly itemsMax: number;
  readonly bytesMax: number;
  bytesOf(item: Item): number;
  /** Milliseconds that a call waits for more, until there are `batchMax`. Default 0. */
  readonly lingerMs?: number;
  onLost(items: number, error: unknown): void;
}

/** Does work in batches in the background, bounded in memory. Only for work that may be lost. */
export function createBacklog<Item>(
  run: (items: readonly Item[]) => Promise<unknown>,
  options: BacklogOptions<Item>,
) {
  const { batchMax, itemsMax, bytesMax, bytesOf, lingerMs = 0 } = options;
  const closing = new AbortController();
  const waiting: Item[] = [];
  let bytes = 0;
  let working: Promise<void> | undefined;
  let isOver = false;

  function add(item: Item): void {
    const itemBytes = bytesOf(item);
    if (isOver || waiting.length >= itemsMax || bytes + itemBytes > bytesMax) {
      return options.onLost(1, NO_CAPACITY);
    }
    waiting.push(item);
    bytes += itemBytes;
    working ??= work();
  }

  async function work(): Promise<void> {
    // The caller continues first, and may add more.
    await Promise.resolve();
    while (waiting.length > 0 && !isOver) {
      if (waiting.length < batchMax) await wait(lingerMs, closing.signal);
      const batch = waiting.splice(0, batchMax);
      for (const item of batch) bytes -= bytesOf(item);
      try {
        await run(batch);
      } catch (error) {
        options.onLost(batch.length, error);
      }
    }
    working = undefined;
  }

  async function close(timeoutMs: number): Promise<void> {
    closing.abort();
    if (working !== undefined) await settlesWithin(working, timeoutMs);
    isOver = true;
    if (waiting.length > 0) options.onLost(waiting.length, CLOSED);
  }

  return { add, close };
}

const NO_CAPACITY = new Error("Cannot queue an item: too many are waiting already");
const CLOSED = new Error("Cannot queue an item: this process is closing");
