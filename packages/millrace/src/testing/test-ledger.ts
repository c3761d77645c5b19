import type { EventKey } from "@millrace/core";
import type pg from "pg";
import type { RecordedStep } from "./delivered.ts";

/** An event, with `isDue` for its next attempt. */
export interface PendingEvent extends EventKey {
  readonly isDue: boolean;
}

/**
 * The reads of tests: the steps of an event, its emitted events, due events, and the passing of
 * time.
 */
/** A pending event, and when it is due. */
interface DueEvent extends EventKey {
  readonly inMs: number;
}

export interface TestLedger {
  /** The steps of an event that have ended, in that order. */
  steps(key: EventKey): Promise<readonly RecordedStep[]>;
  /** The events that the handlers of an event emitted, in that order. */
  emitted(key: EventKey): Promise<readonly PendingEvent[]>;
  /** The pending event whose next attempt is due first, within so many milliseconds. */
  nextDue(withinMs: number): Promise<DueEvent | undefined>;
  /** Lets time pass for every pending event. */
  passTime(ms: number): Promise<void>;
}

const KEY = `source, event_id AS "eventId", generation`;

const STEPS = `
SELECT name, result FROM millrace.steps
WHERE source = $1 AND event_id = $2 AND generation = $3
ORDER BY recorded_at, name`;

const EMITTED = `
SELECT ${KEY},
  status = 'pending' AND (next_attempt_at IS NULL OR next_attempt_at <= clock_timestamp()) AS "isDue"
FROM millrace.events
WHERE parent_source = $1 AND parent_event_id = $2 AND parent_generation = $3 AND generation = 0
ORDER BY body_id`;

const NEXT_DUE = `
SELECT * FROM (
  SELECT ${KEY}, body_id,
    greatest(0, extract(epoch FROM next_attempt_at - clock_timestamp()) * 1000)::float8 AS "inMs"
  FROM millrace.events WHERE status = 'pending'
) AS pending
WHERE "inMs" <= $1
ORDER BY "inMs", body_id LIMIT 1`;

/** No clock is set: when an event became pending, and when it is due, moves into the past. */
const PASS_TIME = `
UPDATE millrace.events
SET next_attempt_at = next_attempt_at - make_interval(secs => $1::float8 / 1000),
  pending_since = pending_since - make_interval(secs => $1::float8 / 1000)
WHERE status = 'pending'`;

export function createTestLedger(pool: pg.Pool): TestLedger {
  const valuesOf = ({ source, eventId, generation }: EventKey) => [source, eventId, generation];
  return {
    steps: async (key) => {
      const { rows } = await pool.query<{ name: string; result: string | null }>(
        STEPS,
        valuesOf(key),
      );
      return rows.map(({ name, result }) => ({
        name,
        result: result === null ? undefined : JSON.parse(result),
      }));
    },
    emitted: async (key) => (await pool.query<PendingEvent>(EMITTED, valuesOf(key))).rows,
    nextDue: async (withinMs) => {
      const { rows } = await pool.query<DueEvent>(NEXT_DUE, [withinMs]);
      return rows[0];
    },
    passTime: async (ms) => {
      await pool.query(PASS_TIME, [ms]);
    },
  };
}
