/** What must be closed again, in the opposite order of its opening. */
export interface Closers {
  add(close: () => Promise<void>): void;
  /** Closes all of it, whatever fails; then throws the first failure. */
  closeAll(): Promise<void>;
}

export function createClosers(): Closers {
  const closers: (() => Promise<void>)[] = [];
  return {
    add(close) {
      closers.push(close);
    },
    async closeAll() {
      const failures: unknown[] = [];
      for (const close of closers.splice(0).toReversed()) {
        await close().catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
