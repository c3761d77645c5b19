import type { EventRow } from "@millrace/api-contract";
import { request } from "../api/request.ts";
import { ReasonDialog } from "../parts/dialog.tsx";
import { countOf } from "../parts/format.ts";
import { notify } from "../parts/notice.tsx";

interface Props {
  readonly rows: readonly EventRow[];
  readonly onClose: () => void;
  readonly onRetried: () => void;
}

export function RetryDialog({ rows, onClose, onRetried }: Props) {
  const failed = rows.filter((row) => row.status === "failed");
  const others = rows.length - failed.length;
  const title = `Retry ${countOf(failed.length, "failed event")}`;
  const events = failed.map(({ source, event_id, generation }) => {
    return { source, event_id, generation };
  });
  return (
    <ReasonDialog
      title={title}
      label={title}
      disabled={failed.length === 0}
      act={(reason) => request("post /retry", { body: { events, reason } })}
      onDone={(answer) => {
        // A call that names its events starts no run.
        const retried = "retried" in answer ? answer.retried : 0;
        const left = failed.length - retried;
        const rest =
          left === 0 ? "" : ` ${countOf(left, "event")} could not be retried: see each one.`;
        notify({ kind: "done", text: `Retried ${countOf(retried, "event")}.${rest}` });
        onRetried();
      }}
      onClose={onClose}
    >
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
    </ReasonDialog>
  );
}
