import type { EventDetail } from "@millrace/api-contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { request } from "../api/request.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { Modal } from "../parts/modal.tsx";
import { notify } from "../parts/notice.tsx";
import { reasonBody, ReasonField } from "../parts/reason-field.tsx";

/** Gives a pending event up: it fails now. */
export function GiveUpDialog({ event, onClose }: { event: EventDetail; onClose: () => void }) {
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
