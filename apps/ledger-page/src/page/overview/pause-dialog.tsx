import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { request } from "../api/request.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { Modal } from "../parts/modal.tsx";
import { notify } from "../parts/notice.tsx";
import { reasonBody, ReasonField } from "../parts/reason-field.tsx";

interface Props {
  readonly source: string;
  readonly paused: boolean;
  readonly onClose: () => void;
}

/** Pauses a source's queue, or lets it go on. */
export function PauseDialog({ source, paused, onClose }: Props) {
  const verb = paused ? "resume" : "pause";
  const label = paused ? "Resume" : "Pause";
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const run = useMutation({
    mutationFn: () =>
      request(`post /sources/:source/${verb}`, { params: { source }, body: reasonBody(reason) }),
    onSuccess: () => {
      notify({ kind: "done", text: `${label}d ${source}.` });
      onClose();
    },
    onSettled: () => client.invalidateQueries(),
  });
  return (
    <Modal title={`${label} ${source}`} onClose={onClose}>
      <p>
        {paused
          ? "Workers process the events of this source again, oldest first."
          : "Deliveries are still accepted and acknowledged. Workers do not process them until you resume the source."}
      </p>
      <ReasonField value={reason} onChange={setReason} />
      {run.error && <ErrorNote error={run.error} />}
      <div className="actions">
        <button onClick={onClose}>Cancel</button>
        <button className="primary" onClick={() => run.mutate()} disabled={run.isPending}>
          {label} {source}
        </button>
      </div>
    </Modal>
  );
}
