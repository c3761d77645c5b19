import type { EventDetail } from "@millrace/api-contract";
import { useState } from "react";
import type { Verb } from "../events/bulk.ts";
import { useMayWrite } from "../session/session-context.ts";
import { RunAgainDialog } from "./run-again-dialog.tsx";

/** The buttons that run one event again, and why those that are not there are not. */
export function RunAgain({ event }: { event: EventDetail }) {
  const [verb, setVerb] = useState<Verb>();
  const mayWrite = useMayWrite();
  if (!mayWrite) return <p className="quiet">Viewers cannot retry or replay.</p>;
  const jobFailed = event.stage === "queued" && event.job_state === "failed";
  const latest = Math.max(event.generation, ...event.generations.map((run) => run.generation));
  const isLatest = event.generation === latest;
  const isFailed = event.status === "failed" || jobFailed;
  const isSettled = event.status === "failed" || event.status === "completed";
  return (
    <div className="actions">
      {isFailed && (
        <button className="primary" onClick={() => setVerb("retry")}>
          Retry…
        </button>
      )}
      {isSettled && isLatest && <button onClick={() => setVerb("replay")}>Replay…</button>}
      {isSettled && !isLatest && (
        <p className="quiet">Generation {latest} is the latest; only that one can be replayed.</p>
      )}
      {verb !== undefined && (
        <RunAgainDialog verb={verb} event={event} onClose={() => setVerb(undefined)} />
      )}
    </div>
  );
}
