/**
 * Lets many callers share one call: what arrives while a call is in flight goes together with the
 * next one, up to `sizeMax` a call. A lone item is not kept waiting.
 *
 * @param run - takes a list and returns one result an item, in order. When it throws, every item
 * of that call is rejected with the same error.
 */
export function createBatcher<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  options: { sizeMax: number; inFlightMax?: number },
): { add(item: Item): Promise<Result>; readonly waiting: number } {
  const inFlightMax = options.inFlightMax ?? 1;
  const queue: Waiting<Item, Result>[] = [];
  let inFlight = 0;
  let scheduled = false;

  function add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject });
      schedule();
    });
  }

  // One turn of the event loop gathers what one read of the sockets brought.
  function schedule(): void {
    if (scheduled || inFlight >= inFlightMax) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      while (queue.length > 0 && inFlight < inFlightMax)
        void flush(queue.splice(0, options.sizeMax));
    });
  }

  async function flush(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    inFlight += 1;
    try {
      const results = await run(batch.map((waiting) => waiting.item));
      results.forEach((result, index) => batch[index]?.resolve(result));
      for (const waiting of batch.slice(results.length)) {
        waiting.reject(new RangeError(`Cannot answer an item: ${results.length} results`));
      }
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    } finally {
      inFlight -= 1;
      if (queue.length > 0) schedule();
    }
  }

  return {
    add,
    get waiting() {
      return queue.length;
    },
  };
}

interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}
