import type { Attempt, EventDetail } from "@millrace/api-contract";
import { durationOf } from "../parts/age.ts";
import { countOf } from "../parts/count.ts";
import { ExactTime } from "../parts/time.tsx";

/** The event's way, from its delivery to what became of it. */
export function Timeline({ event }: { event: EventDetail }) {
  return (
    <section aria-labelledby="timeline" className="panel">
      <h2 id="timeline">Timeline</h2>
      <ol className="timeline">
        {event.received_at !== null && (
          <li>
            <p className="step">Received</p>
            <ExactTime at={event.received_at} />
          </li>
        )}
        {event.stage === "recorded" && (
          <li>
            <p className="step">Recorded in the ledger</p>
            <ExactTime at={event.recorded_at} />
          </li>
        )}
        {event.attempt_log.map((attempt) => (
          <FailedAttempt key={attempt.attempt} attempt={attempt} />
        ))}
        <Now event={event} />
      </ol>
    </section>
  );
}

function FailedAttempt({ attempt }: { attempt: Attempt }) {
  const { started_at, finished_at } = attempt;
  return (
    <li className="failed">
      <p className="step">
        Attempt {attempt.attempt} failed <code>{attempt.code}</code>
        {!attempt.counted && <span className="quiet"> (does not count toward the limit)</span>}
      </p>
      <ExactTime at={finished_at} />
      {started_at !== null && (
        <span className="quiet">
          {" "}
          · took {durationOf(Date.parse(finished_at) - Date.parse(started_at))}
        </span>
      )}
      <pre className="error">{attempt.message}</pre>
    </li>
  );
}

function Now({ event }: { event: EventDetail }) {
  if (event.stage === "queued") {
    return (
      <li className={event.last_error === null ? "pending" : "failed"}>
        <p className="step">In the queue: {event.job_state}</p>
        {event.last_error !== null && <pre className="error">{event.last_error}</pre>}
      </li>
    );
  }
  const { status, attempts, processed_at, started_at } = event;
  if (status === "pending" || processed_at === null) {
    return (
      <li className="pending">
        <p className="step">Pending</p>
        <p className="quiet">
          {attempts === 0
            ? "No attempt has started yet"
            : `${countOf(attempts, "attempt")} so far; running now, or waiting for the next one`}
        </p>
      </li>
    );
  }
  const tookMs =
    started_at === null ? undefined : Date.parse(processed_at) - Date.parse(started_at);
  return (
    <li className={status}>
      <p className="step">
        {status === "completed" ? `Completed by attempt ${attempts}` : "Failed for good"}
        {event.outcome !== null && <span className="quiet"> {event.outcome}</span>}
      </p>
      <ExactTime at={processed_at} />
      {status === "completed" && tookMs !== undefined && (
        <span className="quiet"> · took {durationOf(tookMs)}</span>
      )}
      {status === "failed" && event.attempt_log.length === 0 && event.last_error !== null && (
        <pre className="error">{event.last_error}</pre>
      )}
    </li>
  );
}
