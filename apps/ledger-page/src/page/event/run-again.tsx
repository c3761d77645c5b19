import type { EventDetail } from "@millrace/api-contract";
import { useState } from "react";
import { useNavigate } from "react-router";
import { request } from "../api/request.ts";
import { ReasonDialog } from "../parts/dialog.tsx";
import { eventLink } from "../parts/list-filter.ts";
import { notify } from "../parts/notice.tsx";
import { useShortcuts } from "../parts/shortcuts.ts";
import { useMayWrite } from "../session/session.ts";

export function RunAgain({ event }: { event: EventDetail }) {
  const [verb, setVerb] = useState<Verb>();
  const mayWrite = useMayWrite();
  const latest = Math.max(event.generation, ...event.generations.map((run) => run.generation));
  const isLatest = event.generation === latest;
  const isFailed =
    event.status === "failed" || (event.stage === "queued" && event.job_state === "failed");
  const isDelayed =
    event.stage !== "queued" && event.attempts > 0 && event.next_attempt_at !== null;
  const retries = isFailed ? "retry" : isDelayed ? "now" : undefined;
  useShortcuts(mayWrite && retries !== undefined ? { r: () => setVerb(retries) } : {});
  if (!mayWrite) return <p className="quiet">Viewers cannot retry, replay, or give up.</p>;
  const isSettled = event.status === "failed" || event.status === "completed";
  return (
    <div className="actions">
      {retries !== undefined && (
        <button className="primary" onClick={() => setVerb(retries)}>
          {WORDS[retries].label}…
        </button>
      )}
      {isSettled && isLatest && <button onClick={() => setVerb("replay")}>Replay…</button>}
      {isSettled && !isLatest && (
        <p className="quiet">Generation {latest} is the latest; only that one can be replayed.</p>
      )}
      {event.status === "pending" && <button onClick={() => setVerb("give-up")}>Give up…</button>}
      {verb !== undefined && (
        <RunAgainDialog verb={verb} event={event} onClose={() => setVerb(undefined)} />
      )}
    </div>
  );
}

type Verb = keyof typeof WORDS;

export const RETRY_MEANING =
  "The handlers run again with the full number of attempts. The failed attempts left no writes behind.";

const WORDS = {
  retry: { title: "Retry this event", label: "Retry", meaning: RETRY_MEANING },
  now: {
    title: "Run this event now",
    label: "Run now",
    meaning: "Its next attempt does not wait any longer. The attempts stay counted.",
  },
  replay: {
    title: "Replay this event",
    label: "Replay",
    meaning:
      "The event runs again as a new generation, with the body that was received. What earlier generations wrote is not undone.",
  },
  "give-up": {
    title: "Give this event up",
    label: "Give up",
    meaning: "It fails now and is not attempted again, unless somebody retries it.",
  },
} as const;

const OTHER_BODY =
  "The event runs again as a new generation, with this other body. What earlier generations wrote is not undone.";

interface DialogProps {
  readonly verb: Verb;
  readonly event: EventDetail;
  /** Runs the other body of a conflict. */
  readonly bodyHash?: string;
  readonly onClose: () => void;
}

export function RunAgainDialog({ verb, event, bodyHash, onClose }: DialogProps) {
  const navigate = useNavigate();
  const { source, event_id, generation } = event;
  const { meaning, ...words } = WORDS[verb];
  return (
    <ReasonDialog
      {...words}
      act={(reason) => {
        const asked = { params: { source, eventId: event_id }, body: { reason } };
        if (bodyHash !== undefined) {
          const query = { body_hash: bodyHash };
          return request("post /events/:source/:eventId/replay", { ...asked, query });
        }
        const query = { generation: String(generation) };
        const path = verb === "now" ? "retry" : verb;
        return request(`post /events/:source/:eventId/${path}`, { ...asked, query });
      }}
      onDone={async (result) => {
        if ("retried" in result) {
          notify(verb === "now" ? "The event runs now." : "Retried: the event is pending again.");
        } else if ("given_up" in result) {
          notify("Given up: the event is failed.");
        } else {
          notify(`Replayed as generation ${result.generation}.`);
          await navigate(eventLink({ ...event, generation: result.generation }));
        }
      }}
      onClose={onClose}
    >
      <p>{bodyHash === undefined ? meaning : OTHER_BODY}</p>
    </ReasonDialog>
  );
}
