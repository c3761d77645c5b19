import { queryRows, type LedgerContext } from "../connection/ledger-context.ts";
import type { OpenBulkRun } from "./bulk-runs.ts";

/** Of fewer results, a share says little. */
const RESULTS_MIN = 20;

/** An event that failed again and waits for its next attempt has not completed. */
const COUNT = `
SELECT count(*) FILTER (WHERE coalesce(e.status, 'completed') = 'completed')::int AS completed,
  count(*) FILTER (
    WHERE e.status = 'failed' OR (e.status = 'pending' AND e.next_attempt_at IS NOT NULL)
  )::int AS "failedOnce",
  count(*) FILTER (WHERE e.status = 'failed')::int AS failed,
  count(*)::int AS "all"
FROM millrace.bulk_members m
LEFT JOIN millrace.events e ON e.source = m.source AND e.event_id = m.event_id
  AND e.generation = coalesce(m.new_generation, m.generation)
WHERE m.run_id = $1 AND m.skipped IS NULL`;

const PASS = `
UPDATE millrace.bulk_runs SET canary_state = 'passed', error = $2
WHERE id = $1 AND canary_state = 'running'`;

const HOLD = `
UPDATE millrace.bulk_runs SET error = $2
WHERE id = $1 AND canary_state = 'running' AND finished_at IS NULL`;

const STOP = `
UPDATE millrace.bulk_runs SET state = 'stopped', error = $2, finished_at = clock_timestamp()
WHERE id = $1 AND state = 'running'`;

type Counts = Readonly<Record<"completed" | "failedOnce" | "failed" | "all", number>>;

/** Holds or stops a run with a canary or a limit by the results of the events it has reached. */
export async function judgeRun(
  ledger: LedgerContext,
  run: OpenBulkRun,
): Promise<"goes_on" | "waits" | "stopped"> {
  const [counts] = await queryRows<Counts>(ledger, COUNT, [run.id]);
  if (counts === undefined) return "goes_on";
  const stop = stopReason(run, counts);
  if (stop !== undefined) {
    await ledger.send({ text: STOP, values: [run.id, stop] });
    return "stopped";
  }
  if (run.canaryState !== "running") return "goes_on";
  const isPassed = counts.completed === counts.all;
  const text = isPassed ? PASS : HOLD;
  await ledger.send({ text, values: [run.id, isPassed ? null : holdReason(counts)] });
  return isPassed ? "goes_on" : "waits";
}

function stopReason(run: OpenBulkRun, counts: Counts): string | undefined {
  const { completed, failed, failedOnce, all } = counts;
  if (run.canaryState === "running" && failed > 0) {
    return `Stopped: ${failed} of ${all} canary events failed again. To run the others: millrace runs resume ${run.id}`;
  }
  const ended = completed + failedOnce;
  if (run.failedShareMax === null || ended < RESULTS_MIN) return undefined;
  if (failedOnce / ended <= run.failedShareMax) return undefined;
  const most = `${Number((run.failedShareMax * 100).toFixed(2))} %`;
  return `Stopped: ${failedOnce} of ${ended} events failed again, and at most ${most} may. To run the others: millrace runs resume ${run.id}`;
}

function holdReason({ completed, failedOnce, all }: Counts): string {
  const waits = failedOnce === 0 ? "" : `, ${failedOnce} failed and will be tried again`;
  return `The canary holds the run: ${completed} of ${all} events completed${waits}`;
}
