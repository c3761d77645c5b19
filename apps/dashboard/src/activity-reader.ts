import type { ActivityBucket } from "@millrace/api-contract";
import type { Ledger } from "@millrace/ledger";
import { setNewest } from "./cache.ts";

/** Minutes of a statement, so that it ends within its time. */
const SLICE = 5;
const HOUR = 60;
const KEPT_MAX = 100;

export interface ActivityOf {
  readonly source?: string | undefined;
  readonly type?: string | undefined;
}

/**
 * Reads the last hour by minute. Past minutes are counted once and kept, so only the first reading
 * costs much. A minute's failures are those without a retry when it was counted.
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

function hourUpTo(last: string): string[] {
  const lastMs = Date.parse(last);
  return Array.from({ length: HOUR }, (_, index) =>
    new Date(lastMs - (HOUR - 1 - index) * 60_000).toISOString(),
  );
}
