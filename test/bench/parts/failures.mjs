import { identifyError } from "@millrace/core";
import { createLedger, createPool } from "@millrace/ledger";
import { inTurn } from "../rounds.mjs";
import { percentiles } from "../statistics.mjs";

/** Connections that record failures at once, as of several workers. */
const CONNECTIONS = 40;
const LOOK_MS = 20;

const uncounted = { name: "counted nowhere", errors: 0 };
const twelve = { name: "12 errors", errors: 12 };
const one = { name: "one error", errors: 1 };
const kept = { name: "one error, with stack and log", errors: 1, isKept: true };
/** What the shards are for. */
const oneRow = { name: "one error in one row", errors: 1, isOneRow: true };

export const failures = {
  help: `failed attempts of ${CONNECTIONS} connections at once, and what it costs to count them by error`,
  contenders: [uncounted, twelve, one, oneRow, kept],
  run: async (servers, contenders, { rounds, events = 10_000 }) => ({
    failures: {
      title: `Failures: ${events} attempts recorded as failed, by ${CONNECTIONS} connections`,
      contenders: await inTurn(contenders, rounds, async (contender) =>
        measureFailures(await servers.fresh(), contender, events),
      ),
    },
  }),
};

async function measureFailures(stores, { errors, isOneRow, isKept }, events) {
  await stores.query(ATTEMPTED, [events]);
  if (isOneRow) await stores.query(ONE_ROW);
  const url = stores.env.DATABASE_URL;
  const pool = createPool({ url, max: CONNECTIONS, applicationName: "bench" });
  const { claims } = createLedger({ pool });
  const identities = Array.from({ length: errors }, (_, n) =>
    identifyError({ code: "handler_failed", text: `Error: failed in way ${"abcdefghijkl"[n]}` }),
  );
  // Connections, and statements that are prepared, are there before the clock runs.
  await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.query("SELECT pg_sleep(0.2)")));
  const took = [];
  let next = 0;
  const failNext = async () => {
    while (next < events) {
      const n = (next += 1);
      const startedMs = performance.now();
      const key = { source: "bench", eventId: `evt_${n}`, generation: 0 };
      const answer = await claims.fail(key, 1, failureOf(identities[n % errors], isKept));
      if (answer !== "recorded") throw new Error(`Event ${n} is ${answer}`);
      took.push(performance.now() - startedMs);
    }
  };
  const looks = lookForWaits(stores);
  const startedMs = performance.now();
  const cpuBefore = stores.cpuMs();
  await Promise.all(Array.from({ length: CONNECTIONS }, failNext));
  const seconds = (performance.now() - startedMs) / 1_000;
  const cpuAfter = stores.cpuMs();
  const waiting = await looks.end();
  const [{ counted }] = await stores.query(
    "SELECT coalesce(sum(attempts), 0)::int AS counted FROM millrace.error_counts",
  );
  if (counted !== (errors === 0 ? 0 : events)) throw new Error(`${counted} are counted`);
  await pool.end();
  const { p50, p99 } = percentiles(took);
  return {
    rate: events / seconds,
    cpuUs: { postgres: ((cpuAfter.postgres - cpuBefore.postgres) * 1_000) / events },
    figures: { "p50 ms": p50, "p99 ms": p99, "connections that wait for a row": waiting },
  };
}

/** Events that have one attempt, which runs. */
const ATTEMPTED = `
INSERT INTO millrace.events
  (source, event_id, generation, type, body_id, body_hash, unsigned, received_at, attempts, started_at)
SELECT 'bench', 'evt_' || n, 0, 'order.paid', n, md5(n::text), false, now(), 1, now()
FROM generate_series(1, $1::int) n`;

const ONE_ROW = `
CREATE FUNCTION one_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.shard := 0; RETURN NEW; END $$;
CREATE TRIGGER one_row BEFORE INSERT ON millrace.error_counts FOR EACH ROW EXECUTE FUNCTION one_row()`;

const FRAME = {
  file: "src/orders/ship.ts",
  line: 12,
  column: 7,
  function: "async ship",
  own: true,
};
const LINE = {
  at: "2026-11-24T12:00:00.000Z",
  level: "info",
  text: "asking the carrier for a label",
};

const many = (length, item) => Array.from({ length }, () => item);

const failureOf = (identity, isKept) => ({
  ...{ final: false, counts: true, code: /** @type {const} */ ("handler_failed") },
  message: "Error: failed",
  ...{ run: "run-1", afterMs: 1_000 },
  details: identity && {
    ...identity,
    ...{ stack: isKept ? many(12, FRAME) : [], log: isKept ? many(10, LINE) : [] },
    logDropped: 0,
  },
});

/** How many connections wait for each other, on average. */
function lookForWaits({ query }) {
  const seen = [];
  let isEnding = false;
  const look = async () => {
    while (!isEnding) {
      const [{ waiting }] = await query(
        "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE application_name = 'bench' AND wait_event_type = 'Lock'",
      );
      seen.push(waiting);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  };
  const looking = look();
  return {
    end: async () => {
      isEnding = true;
      await looking;
      return seen.reduce((sum, waiting) => sum + waiting, 0) / seen.length;
    },
  };
}
