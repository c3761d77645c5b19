import { isStorable, MillraceError } from "@millrace/core";
import type { LedgerContext } from "./ledger-context.ts";
import { ACTIVITY } from "./sql/activity.ts";
import { runStatement } from "./transaction.ts";

/** What happened within one minute, as it goes out. */
export interface ActivityRow {
  /** When the minute began. */
  readonly at: string;
  /** Events and generations that the ledger saw for the first time. */
  readonly recorded: number;
  readonly completed: number;
  /** Failed, and not retried since. */
  readonly failed: number;
  /** Milliseconds from the record to the end, of what was completed or failed; null when nothing was. */
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}

/** Which minutes, and of what. */
export interface ActivityQuery {
  /** Of all sources without it. */
  readonly source?: string | undefined;
  /** How many minutes. */
  readonly minutes: number;
  /** The minute after the last one, as `at` of a row has it; up to the one that is not over without. */
  readonly before?: string | undefined;
}

/**
 * Counts some minutes, oldest first. Reads every event that was recorded or ended in them, by an index,
 * without a look at the others.
 *
 * @throws `database_unavailable`
 */
export async function activity(
  ledger: LedgerContext,
  { source, minutes, before }: ActivityQuery,
): Promise<readonly ActivityRow[]> {
  if (source !== undefined && !isStorable(source)) {
    throw new MillraceError("invalid_request", "Cannot count events: no source has such a name");
  }
  const query = { text: ACTIVITY, values: [source ?? null, minutes, before ?? null] };
  const { rows } = await runStatement<Row>(ledger.pool, query, ledger.short);
  return rows.map(({ at, p50_ms, p95_ms, ...counts }) => ({
    at: at.toISOString(),
    ...counts,
    p50_ms: inMilliseconds(p50_ms),
    p95_ms: inMilliseconds(p95_ms),
  }));
}

interface Row extends Omit<ActivityRow, "at"> {
  readonly at: Date;
}

// To the microsecond, which is what Postgres' clock gives.
const inMilliseconds = (ms: number | null): number | null =>
  ms === null ? null : Math.round(ms * 1_000) / 1_000;
