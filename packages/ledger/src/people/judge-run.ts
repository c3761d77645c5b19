import { queryRows, type LedgerContext } from "../connection/ledger-context.ts";
import type { OpenBulkRun } from "./bulk-runs.ts";

/** Of fewer results, a share says little. */
const RESULTS_MIN = 20;

/** An event that failed once has a result, also while it waits for its next attempt. */
const COUNT = `
SELECT count(*) FILTER (WHERE coalesce(e.status, 'completed') = 'completed')::int AS completed,
  count(*) FILTER (
    WHERE e.status = 'failed' OR (
      e.status = 'pending' AND e.next_attempt_at IS NOT NULL AND e.last_error_code <> 'retry_later'
    )
  )::int AS "failedOnce",
  count(*) FILTER (WHERE e.status = 'failed')::int AS failed,
  count(*)::int AS "all"
FROM millrace.bulk_members m
LEFT JOIN millrace.events e ON e.source = m.source AND e.event_id = m.event_id
  AND e.generation = coalesce(m.new_generation, m.generation)
WHERE m.run_id = $1 AND m.skipped IS NULL`;

const PASS = `
UPDATE millrace.bulk_runs SET canary_state = 'passed', error = NULL
WHERE id = $1 AND canary_state = 'running'`;

const HOLD = `
UPDATE millrace.bulk_runs SET error = $2
WHERE id = $1 AND state = 'running' AND error IS DISTINCT FROM $2`;

const STOP = `
UPDATE millrace.bulk_runs SET state = 'stopped', error = $2, finished_at = clock_timestamp()
WHERE id = $1 AND state = 'running'`;

type Counts = Readonly<Record<"completed" | "failedOnce" | "failed" | "all", number>>;

/**
 * Stops a run with a canary or a limit by the results of the events it has reached, or returns
 * how many more it may reach before it is judged again: 0 holds it.
 */
export async function judgeRun(
  ledger: LedgerContext,
  run: OpenBulkRun,
): Promise<number | "stopped"> {
  const [counts] = await queryRows<Counts>(ledger, COUNT, [run.id]);
  if (counts === undefined) return 0;
  const stop = stopReason(run, counts);
  if (stop !== undefined) {
    await ledger.send({ text: STOP, values: [run.id, stop] });
    return "stopped";
  }
  const isCanary = run.canaryState === "running";
  const isPassed = isCanary && counts.completed === counts.all;
  if (isPassed) await ledger.send({ text: PASS, values: [run.id] });
  const ended = endedOf(counts);
  const pending = counts.all - ended;
  // Twice as far with each round of results: a run whose events complete is hardly slowed.
  const left = run.failedShareMax === null ? Infinity : Math.max(RESULTS_MIN, ended) - pending;
  if (isCanary ? isPassed : left > 0) return left;
  const reason = isCanary
    ? canaryHolds(counts)
    : `The limit holds the run: ${pending} events have no result yet`;
  await ledger.send({ text: HOLD, values: [run.id, reason] });
  return 0;
}

const endedOf = ({ completed, failedOnce }: Counts): number => completed + failedOnce;

function stopReason(run: OpenBulkRun, counts: Counts): string | undefined {
  const { failed, failedOnce, all } = counts;
  const hasOthers = run.total === null || all < run.total;
  const advice = hasOthers ? `. To run the others: millrace runs resume ${run.id}` : "";
  if (run.canaryState === "running" && failed > 0) {
    return `Stopped: ${failed} of ${all} canary events failed again${advice}`;
  }
  const ended = endedOf(counts);
  if (run.failedShareMax === null || ended < RESULTS_MIN) return undefined;
  if (failedOnce / ended <= run.failedShareMax) return undefined;
  const most = `${Number((run.failedShareMax * 100).toFixed(2))} %`;
  return `Stopped: ${failedOnce} of ${ended} events failed an attempt again, and at most ${most} may${advice}`;
}

function canaryHolds({ completed, failedOnce, all }: Counts): string {
  const waits = failedOnce === 0 ? "" : `, ${failedOnce} failed and will be tried again`;
  return `The canary holds the run: ${completed} of ${all} events completed${waits}`;
}
