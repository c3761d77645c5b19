import type pg from "pg";
import { createLeader } from "../leader.ts";

/** What came of work that one process does at a time. */
export type Alone<T> = { readonly kind: "done"; readonly value: T } | { readonly kind: "taken" };

/**
 * Runs `work` while this process leads under a name; `taken`, at once, when another one does. The
 * signal aborts when the lead is lost, and another may begin.
 *
 * @throws `database_unavailable`, what `work` threw
 */
export async function alone<T>(
  pool: pg.Pool,
  name: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<Alone<T>> {
  const leader = createLeader({ pool }, name);
  try {
    const lost = await leader.lead();
    if (lost === undefined) return { kind: "taken" };
    return { kind: "done", value: await work(lost) };
  } finally {
    leader.close();
  }
}
