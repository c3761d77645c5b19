import type { EventRow } from "@millrace/api-contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { request } from "../api/request.ts";
import { Modal, reasonBody, ReasonField } from "../parts/dialog.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { countOf } from "../parts/format.ts";
import { notify } from "../parts/notice.tsx";

interface Props {
  readonly rows: readonly EventRow[];
  readonly onClose: () => void;
  readonly onRetried: () => void;
}

/** Retries the events that a person chose; those that have not failed are left alone. */
export function RetryDialog({ rows, onClose, onRetried }: Props) {
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const failed = rows.filter((row) => row.status === "failed");
  const others = rows.length - failed.length;
  const run = useMutation({
    mutationFn: () =>
      request("post /retry", {
        body: {
          events: failed.map(({ source, event_id, generation }) => {
            return { source, event_id, generation };
          }),
          ...reasonBody(reason),
        },
      }),
    onSuccess: (answer) => {
      // A call that names its events starts no run.
      const retried = "retried" in answer ? answer.retried : 0;
      const left = failed.length - retried;
      const rest =
        left === 0 ? "" : ` ${countOf(left, "event")} could not be retried: see each one.`;
      notify({ kind: "done", text: `Retried ${countOf(retried, "event")}.${rest}` });
      onRetried();
      onClose();
    },
    onSettled: () => client.invalidateQueries(),
  });
  const what = countOf(failed.length, "failed event");
  return (
    <Modal title={`Retry ${what}`} onClose={onClose}>
      <p>
        The handlers run again with the full number of attempts. The failed attempts left no writes
        behind.
      </p>
      {others > 0 && (
        <p className="quiet">
          {countOf(others, "selected event")} {others === 1 ? "has" : "have"} not failed, and{" "}
          {others === 1 ? "is" : "are"} left alone.
        </p>
      )}
      <ReasonField value={reason} onChange={setReason} />
      {run.error && <ErrorNote error={run.error} />}
      <div className="actions">
        <button onClick={onClose}>Cancel</button>
        <button
          className="primary"
          onClick={() => run.mutate()}
          disabled={run.isPending || failed.length === 0}
        >
          Retry {what}
        </button>
      </div>
    </Modal>
  );
}
