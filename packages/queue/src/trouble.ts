import type { Notify } from "./notice.ts";

/**
 * Tells of errors that nobody waits for, each error object once: sixty queues on one connection
 * report the same one sixty times.
 */
export function createTrouble(notify: Notify): (error: unknown, source?: string) => void {
  const told = new WeakSet<Error>();
  return (thrown, source) => {
    const error = asError(thrown);
    if (told.has(error)) return;
    told.add(error);
    notify({
      kind: "trouble",
      cause: causeOf(error),
      error,
      ...(source === undefined ? {} : { source }),
    });
  };
}

/** What was thrown, as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/**
 * A code where there is one (ECONNREFUSED, 57P01), else the first word of Redis' answer (OOM).
 *
 * @internal
 */
export function causeOf(error: Error): string {
  if ("code" in error && typeof error.code === "string") return error.code;
  const prefix = /^[A-Z]{3,}\b/.exec(error.message)?.[0];
  return prefix ?? error.message.replace(/\bjob \S+/i, "job").slice(0, 80);
}
