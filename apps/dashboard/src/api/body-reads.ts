import type { Principal } from "@millrace/api-contract";
import type { EventKey } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { setNewest } from "../cache.ts";

/** A body is read in parts, and more than once: that is one reading. */
const READING_MS = 3_600_000;
const READINGS_MAX = 10_000;

/** @throws `database_unavailable`: a body without an entry in the audit is not shown. */
export function createBodyReads(ledger: Pick<Ledger, "audit">) {
  const readings = new Map<string, number>();
  return async ({ user, role, via }: Principal, event: EventKey): Promise<void> => {
    const { source, eventId, generation } = event;
    const key = JSON.stringify([via, user, source, eventId, generation]);
    const nowMs = performance.now();
    if (nowMs - (readings.get(key) ?? -Infinity) < READING_MS) return;
    const about = { source, eventId, generation, result: { shown: true } };
    await ledger.audit.record([{ actor: user, role, via, action: "read_body", ...about }]);
    setNewest(readings, key, nowMs, READINGS_MAX);
  };
}
