import type { Principal } from "@millrace/api-contract";
import type { EventKey } from "@millrace/core";
import type { DashboardLedger } from "../ports.ts";

/** Writes down who reads the body of an event. */
export interface BodyReads {
  /** @throws `database_unavailable`: a body whose reading cannot be written down is not shown. */
  record(reader: Principal, event: EventKey): Promise<void>;
}

/** A body is read in parts, and more than once: that is one reading. */
const READING_MS = 3_600_000;
/** Readings that are remembered; the oldest is forgotten first, and then written down again. */
const READINGS_MAX = 10_000;

/** Creates the record of readings: an entry of the audit for each reader, event and hour. */
export function createBodyReads(ledger: Pick<DashboardLedger, "audit">): BodyReads {
  /** When the reading was written down, by reader and event. */
  const readings = new Map<string, number>();
  return {
    async record({ user, role, via }, { source, eventId, generation }) {
      const key = JSON.stringify([via, user, source, eventId, generation]);
      const nowMs = performance.now();
      if (nowMs - (readings.get(key) ?? -Infinity) < READING_MS) return;
      const result = { shown: true };
      const fact = {
        actor: user,
        role,
        via,
        action: "read_body",
        source,
        eventId,
        generation,
        result,
      };
      await ledger.audit.record([fact]);
      readings.delete(key);
      readings.set(key, nowMs);
      const [oldest] = readings.keys();
      if (readings.size > READINGS_MAX && oldest !== undefined) readings.delete(oldest);
    },
  };
}
