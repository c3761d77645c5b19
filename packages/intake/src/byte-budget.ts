/** Bytes held at once, over all requests. What does not fit is refused, never queued. */
export interface ByteBudget {
  /** Takes bytes, or refuses and takes none. */
  take(bytes: number): boolean;
  /** Whether so many would fit just now. */
  fits(bytes: number): boolean;
  release(bytes: number): void;
  readonly taken: number;
}

/** Makes a budget of `bytesMax` bytes. */
export function createByteBudget(bytesMax: number): ByteBudget {
  let taken = 0;
  const fits = (bytes: number) => taken + bytes <= bytesMax;
  return {
    fits,
    take: (bytes) => {
      if (!fits(bytes)) return false;
      taken += bytes;
      return true;
    },
    release: (bytes) => {
      taken -= bytes;
    },
    get taken() {
      return taken;
    },
  };
}
