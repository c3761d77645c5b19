import type { EventDetail } from "@millrace/api-contract";
import { useState } from "react";
import { useShortcuts } from "../parts/shortcuts.ts";
import { useMayWrite } from "../session/session-context.ts";
import { GiveUpDialog } from "./give-up-dialog.tsx";
import { RunAgainDialog, type Verb } from "./run-again-dialog.tsx";

/** The buttons that run one event again or give it up, and why those that are not there are not. */
export function RunAgain({ event }: { event: EventDetail }) {
  const [verb, setVerb] = useState<Verb | "give up">();
  const mayWrite = useMayWrite();
  const jobFailed = event.stage === "queued" && event.job_state === "failed";
  const latest = Math.max(event.generation, ...event.generations.map((run) => run.generation));
  const isLatest = event.generation === latest;
  const isFailed = event.status === "failed" || jobFailed;
  useShortcuts({
    r: () => {
      if (mayWrite && isFailed) setVerb("retry");
    },
  });
  if (!mayWrite) return <p className="quiet">Viewers cannot retry, replay, or give up.</p>;
  const close = () => setVerb(undefined);
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
      {event.status === "pending" && <button onClick={() => setVerb("give up")}>Give up…</button>}
      {verb === "give up" && <GiveUpDialog event={event} onClose={close} />}
      {verb !== undefined && verb !== "give up" && (
        <RunAgainDialog verb={verb} event={event} onClose={close} />
      )}
    </div>
  );
}
