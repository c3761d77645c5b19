import { LinkedList, type Linked } from "@millrace/core";

export const SMALL_BODY_BYTES = 65_536;

// Of eight bytes, longer bodies leave one to the small ones.
const SMALL_BODIES_PART = 8;

export const largeBytesMax = (bytesMax: number): number =>
  bytesMax - Math.ceil(bytesMax / SMALL_BODIES_PART);

/** Younger long bodies never give way: too many at once would end each other. */
const LARGE_UNDISTURBED_MS = 1_000;

export type Shortage = "source_share" | "budget";

export interface BodyBeingRead extends Linked<BodyBeingRead> {
  /** When it began, by `performance.now()`. */
  readonly startedMs: number;
  evict(): void;
}

/**
 * The bytes of bodies in memory. What does not fit is refused, never queued. A sender can hold
 * back the end of a body: one of several sources takes at most half, long bodies leave an eighth
 * to small ones, and the oldest body of the fullest pool gives way, a small one at once, a long one
 * when it is a second old. For a small body, pools whose oldest is too young are passed over.
 */
export class ByteBudget {
  taken = 0;
  readonly #sources: ReadonlyMap<string, SourceBytes>;
  readonly #pools: readonly BodyPool[];

  constructor(bytesMax: number, bodyBytesMax: ReadonlyMap<string, number>) {
    // A limit that was set on purpose is kept, at the expense of what is left to small bodies.
    const largest = Math.min(bytesMax, Math.max(0, ...bodyBytesMax.values()));
    const largeMax = Math.max(largeBytesMax(bytesMax), largest);
    const part = bodyBytesMax.size > 1 ? 2 : 1;
    this.#sources = new Map(
      Array.from(bodyBytesMax, ([name, longest]) => {
        const share = Math.max(largeMax / part, Math.min(longest, largeMax));
        const small = { share: bytesMax / part, total: bytesMax, undisturbedMs: 0 };
        const large = { share, total: largeMax, undisturbedMs: LARGE_UNDISTURBED_MS };
        return [name, { small: new BodyPool(this, small), large: new BodyPool(this, large) }];
      }),
    );
    this.#pools = [...this.#sources.values()].flatMap(({ small, large }) => [small, large]);
  }

  of(source: string): SourceBytes {
    const bytes = this.#sources.get(source);
    if (bytes === undefined) throw new RangeError(`Cannot find the bytes of ${source}`);
    return bytes;
  }

  fullest(isWanted: (pool: BodyPool) => boolean): BodyPool | undefined {
    let fullest: BodyPool | undefined;
    for (const pool of this.#pools) {
      if (pool.taken > (fullest?.taken ?? 0) && isWanted(pool)) fullest = pool;
    }
    return fullest;
  }
}

export interface SourceBytes {
  readonly small: BodyPool;
  readonly large: BodyPool;
}

export function poolFor({ small, large }: SourceBytes, bytes: number): BodyPool {
  return bytes > SMALL_BODY_BYTES ? large : small;
}

interface PoolLimits {
  readonly share: number;
  readonly total: number;
  readonly undisturbedMs: number;
}

export class BodyPool {
  taken = 0;
  readonly #budget: ByteBudget;
  readonly #limits: PoolLimits;
  /** The oldest body first. */
  readonly #bodies = new LinkedList<BodyBeingRead>();

  constructor(budget: ByteBudget, limits: PoolLimits) {
    this.#budget = budget;
    this.#limits = limits;
  }

  get isReading(): boolean {
    return this.#bodies.first !== undefined;
  }

  get displaceable(): BodyBeingRead | undefined {
    const { first: oldest } = this.#bodies;
    if (oldest === undefined) return undefined;
    return performance.now() - oldest.startedMs >= this.#limits.undisturbedMs ? oldest : undefined;
  }

  /** Undefined when a body of this length can begin: it fits now, or would after an eviction. */
  admits(bytes: number): Shortage | undefined {
    const shortage = this.#shortage(bytes);
    if (shortage === undefined || bytes > this.#limits.share) return shortage;
    return this.#candidate(shortage) === undefined ? shortage : undefined;
  }

  /** Takes bytes, if need be from bodies that give way; or says what is short, and takes none. */
  take(bytes: number, taker?: BodyBeingRead): Shortage | undefined {
    for (;;) {
      const shortage = this.#shortage(bytes);
      if (shortage === undefined) break;
      const candidate = this.#candidate(shortage);
      if (candidate === undefined || candidate === taker) return shortage;
      candidate.evict();
    }
    this.taken += bytes;
    this.#budget.taken += bytes;
    return undefined;
  }

  release(bytes: number): void {
    this.taken -= bytes;
    this.#budget.taken -= bytes;
  }

  /** A body that may give way to others until it leaves. It may have entered before. */
  enter(body: BodyBeingRead): void {
    if (!this.#bodies.has(body)) this.#bodies.append(body);
  }

  leave(body: BodyBeingRead): void {
    this.#bodies.remove(body);
  }

  #shortage(bytes: number): Shortage | undefined {
    if (this.taken + bytes > this.#limits.share) return "source_share";
    return this.#budget.taken + bytes > this.#limits.total ? "budget" : undefined;
  }

  #candidate(shortage: Shortage): BodyBeingRead | undefined {
    if (shortage === "source_share") return this.displaceable;
    const isSmall = this.#limits.undisturbedMs === 0;
    const isWanted = (pool: BodyPool) =>
      isSmall ? pool.displaceable !== undefined : pool.isReading;
    return this.#budget.fullest(isWanted)?.displaceable;
  }
}
