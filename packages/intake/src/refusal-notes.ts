import { settlesWithin, wait, type ErrorCode } from "@millrace/core";
import type { Ledger, NotedRefusals } from "@millrace/ledger";

/** Counts in the ledger how many deliveries are refused, behind the answer to their sender. */
export interface RefusalNotes {
  /** @param source - Undefined where the sender named no source of the config. */
  add(source: string | undefined, code: ErrorCode): void;
  /** Writes what is there, for `timeoutMs` at most. */
  close(timeoutMs: number): Promise<void>;
}

const MINUTE_MS = 60_000;
const LINGER_MS = 1_000;
/** After a failure, so that a Postgres that comes back is not kept busy by counts. */
const RETRY_MS = 5_000;
/** What could not be written for so long is dropped: only the last minutes are shown. */
const KEPT_MS = 10 * MINUTE_MS;

type Count = Omit<NotedRefusals, "agoMs"> & { readonly minute: number };

/**
 * Counts refusals by minute, source, and code, and writes them with one statement a second. A flood of refused deliveries, which
 * costs its sender nothing, is a few numbers here and a few rows in the ledger. What Postgres does not take is kept for ten
 * minutes.
 */
export function createRefusalNotes(
  { noteRefusals }: Pick<Ledger["intake"], "noteRefusals">,
  nowMs: () => number = () => performance.now(),
): RefusalNotes {
  const counts = new Map<string, Count>();
  const closing = new AbortController();
  let working: Promise<void> | undefined;

  function count({ minute, source, code, deliveries }: Count): void {
    const key = `${minute} ${code} ${source ?? ""}`;
    const before = counts.get(key)?.deliveries ?? 0;
    counts.set(key, { minute, source, code, deliveries: before + deliveries });
  }

  async function write(): Promise<void> {
    let restMs = LINGER_MS;
    while (counts.size > 0) {
      await wait(restMs, closing.signal);
      const isLast = closing.signal.aborted;
      const taken = [...counts.values()];
      counts.clear();
      const now = nowMs();
      const kept = taken.filter(({ minute }) => now - minute * MINUTE_MS < KEPT_MS);
      try {
        const noted = kept.map(({ minute, ...rest }) => {
          return { ...rest, agoMs: Math.max(0, now - minute * MINUTE_MS) };
        });
        if (noted.length > 0) await noteRefusals(noted);
        restMs = LINGER_MS;
      } catch {
        // The pool's owner logs that Postgres is away. With it away, the page has no counts to show.
        if (isLast) break;
        for (const one of kept) count(one);
        restMs = RETRY_MS;
      }
    }
    working = undefined;
  }

  return {
    add: (source, code) => {
      count({ minute: Math.floor(nowMs() / MINUTE_MS), source, code, deliveries: 1 });
      if (!closing.signal.aborted) working ??= write();
    },
    close: async (timeoutMs) => {
      closing.abort();
      if (working !== undefined) await settlesWithin(working, timeoutMs);
    },
  };
}
