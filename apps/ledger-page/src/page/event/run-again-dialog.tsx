import type { EventDetail } from "@millrace/api-contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { request } from "../api/request.ts";
import { eventLink } from "../events/list-filter.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { Modal } from "../parts/modal.tsx";
import { notify } from "../parts/notice.tsx";
import { reasonBody, ReasonField } from "../parts/reason-field.tsx";

/** The verbs that run an event again. */
export type Verb = "retry" | "replay";

interface Props {
  readonly verb: Verb;
  readonly event: EventDetail;
  readonly onClose: () => void;
}

/** Retries or replays one event; after a replay its new generation is shown. */
export function RunAgainDialog({ verb, event, onClose }: Props) {
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
