import type { ActivityBucket } from "@millrace/api-contract";
import type { Ledger } from "@millrace/ledger";
import { setNewest } from "./cache.ts";

/** Minutes of a statement: a few of them are read within its time, however many events come. */
const SLICE = 5;
const HOUR = 60;
/** Sources and types whose minutes are kept; the oldest is forgotten first. */
const KEPT_MAX = 100;

/** The source and type to count; all of them without either. */
export interface ActivityOf {
  readonly source?: string | undefined;
  readonly type?: string | undefined;
}

/**
 * Reads the last hour by minute, of a source, of a type, or of all. Minutes that are over for a
 * while are counted once and kept: a reading costs what a few minutes cost, and only the first one
 * an hour, slice by slice. A minute's failures are those that had not been retried when it was
 * counted.
 */
export function createActivityReader(
  reads: Pick<Ledger["reads"], "activity">,
): (of: ActivityOf) => Promise<readonly ActivityBucket[]> {
  const known = new Map<string, Map<string, ActivityBucket>>();
  return async ({ source, type }) => {
    const key = JSON.stringify([source, type]);
    const minutes = known.get(key) ?? new Map<string, ActivityBucket>();
    setNewest(known, key, minutes, KEPT_MAX);

    const read = async (before?: string) => {
      const rows = await reads.activity({ source, type, minutes: SLICE, before });
      for (const row of rows) minutes.set(row.at, row);
      return rows.at(-1)?.at ?? "";
    };
    const wanted = hourUpTo(await read());
    for (let end = HOUR - SLICE; end > 0; end -= SLICE) {
      const slice = wanted.slice(end - SLICE, end);
      if (!slice.every((at) => minutes.has(at))) await read(wanted[end]);
    }
    const first = wanted[0] ?? "";
    for (const at of minutes.keys()) if (at < first) minutes.delete(at);
    return wanted.flatMap((at) => minutes.get(at) ?? []);
  };
}

/** When each minute of the hour began whose last one began at `last`. */
function hourUpTo(last: string): string[] {
  const lastMs = Date.parse(last);
  return Array.from({ length: HOUR }, (_, index) =>
    new Date(lastMs - (HOUR - 1 - index) * 60_000).toISOString(),
  );
}
