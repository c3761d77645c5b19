import type { Principal } from "@millrace/api-contract";
import { keyOf, type EventKey } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { setNewest } from "../cache.ts";

/** A body is read in parts, and more than once: that is one reading. */
const READING_MS = 3_600_000;
const READINGS_MAX = 10_000;

/** A search in bodies, as it was typed: its pages are one reading. */
type Search = { readonly find: string | undefined };

/** @throws `database_unavailable`: a body without an entry in the audit is not shown. */
export function createBodyReads(ledger: Pick<Ledger, "audit">) {
  const readings = new Map<string, number>();
  return async ({ user, role, via }: Principal, read: EventKey | Search): Promise<void> => {
    const { find, ...event } = "find" in read ? read : { ...keyOf(read), find: undefined };
    const key = JSON.stringify([via, user, find, event]);
    const nowMs = performance.now();
    if (nowMs - (readings.get(key) ?? -Infinity) < READING_MS) return;
    const about = { ...event, result: { shown: true, find } };
    await ledger.audit.record([{ actor: user, role, via, action: "read_body", ...about }]);
    setNewest(readings, key, nowMs, READINGS_MAX);
  };
}
