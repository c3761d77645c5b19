import type { EventDetail } from "@millrace/api-contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { request } from "../api/request.ts";
import { Modal, reasonBody, ReasonField } from "../parts/dialog.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { eventLink } from "../parts/list-filter.ts";
import { notify } from "../parts/notice.tsx";
import { useShortcuts } from "../parts/shortcuts.ts";
import { useMayWrite } from "../session/session.ts";

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

/** The verbs that run an event again. */
type Verb = "retry" | "replay";

interface RunAgainDialogProps {
  readonly verb: Verb;
  readonly event: EventDetail;
  readonly onClose: () => void;
}

/** Retries or replays one event; after a replay its new generation is shown. */
function RunAgainDialog({ verb, event, onClose }: RunAgainDialogProps) {
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const navigate = useNavigate();
  const { source, event_id, generation } = event;
  const run = useMutation({
    mutationFn: () =>
      request(`post /events/:source/:eventId/${verb}`, {
        params: { source, eventId: event_id },
        query: { generation: String(generation) },
        body: reasonBody(reason),
      }),
    onSuccess: async (result) => {
      onClose();
      if ("retried" in result) {
        return notify({ kind: "done", text: "Retried: the event is pending again." });
      }
      notify({ kind: "done", text: `Replayed as generation ${result.generation}.` });
      await navigate(eventLink(source, event_id, result.generation));
    },
    onSettled: () => client.invalidateQueries(),
  });
  const label = verb === "retry" ? "Retry" : "Replay";
  return (
    <Modal title={`${label} this event`} onClose={onClose}>
      <p>{MEANING[verb]}</p>
      <ReasonField value={reason} onChange={setReason} />
      {run.error && <ErrorNote error={run.error} />}
      <div className="actions">
        <button onClick={onClose}>Cancel</button>
        <button className="primary" onClick={() => run.mutate()} disabled={run.isPending}>
          {label}
        </button>
      </div>
    </Modal>
  );
}

const MEANING = {
  retry:
    "The handlers run again with the full number of attempts. The failed attempts left no writes behind.",
  replay:
    "The event runs again as a new generation, with the body that was received. What earlier generations wrote is not undone.",
} as const;

/** Gives a pending event up: it fails now. */
function GiveUpDialog({ event, onClose }: { event: EventDetail; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const { source, event_id, generation } = event;
  const giveUp = useMutation({
    mutationFn: () =>
      request("post /events/:source/:eventId/give-up", {
        params: { source, eventId: event_id },
        query: { generation: String(generation) },
        body: reasonBody(reason),
      }),
    onSuccess: () => {
      onClose();
      notify({ kind: "done", text: "Given up: the event is failed." });
    },
    onSettled: () => client.invalidateQueries(),
  });
  return (
    <Modal title="Give this event up" onClose={onClose}>
      <p>It fails now and is not attempted again, unless somebody retries it.</p>
      <ReasonField value={reason} onChange={setReason} />
      {giveUp.error && <ErrorNote error={giveUp.error} />}
      <div className="actions">
        <button onClick={onClose}>Cancel</button>
        <button className="primary" onClick={() => giveUp.mutate()} disabled={giveUp.isPending}>
          Give up
        </button>
      </div>
    </Modal>
  );
}
