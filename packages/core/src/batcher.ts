/**
 * Lets many callers share one call: what arrives while a call is in flight goes together with the
 * next one, up to `sizeMax` a call. A lone item is not kept waiting. Up to `inFlightMax` calls go
 * at once (default 1); with `sparing`, a further one only when it is full.
 * @param run - returns one result an item, in order. Its error rejects every item of the call.
 */
export function createBatcher<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  options: { sizeMax: number; inFlightMax?: number; sparing?: boolean },
) {
  const inFlightMax = options.inFlightMax ?? 1;
  const queue: Waiting<Item, Result>[] = [];
  let inFlight = 0;
  let scheduled = false;

  function push(item: Item, resolve: (result: Result) => void, reject: (error: unknown) => void) {
    queue.push({ item, resolve, reject });
    schedule();
  }

  // One turn of the event loop gathers what one read of the sockets brought.
  function schedule(): void {
    if (scheduled || !mayCall()) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      while (mayCall()) void flush(queue.splice(0, options.sizeMax));
    });
  }

  function mayCall(): boolean {
    if (queue.length === 0 || inFlight >= inFlightMax) return false;
    return inFlight === 0 || options.sparing !== true || queue.length >= options.sizeMax;
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
      schedule();
    }
  }

  return {
    add: (item: Item) => new Promise<Result>((resolve, reject) => push(item, resolve, reject)),
    push,
    get waiting() {
      return queue.length;
    },
  };
}

export type Batcher<Item, Result> = ReturnType<typeof createBatcher<Item, Result>>;

interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}
