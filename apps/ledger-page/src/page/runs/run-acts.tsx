import type { BodyOf, BulkRun } from "@millrace/api-contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useLayoutEffect, useRef, useState, type RefObject } from "react";
import { request } from "../api/request.ts";
import { RateField } from "../events/bulk-dialog.tsx";
import { readRate } from "../events/bulk.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { Modal } from "../parts/modal.tsx";
import { reasonBody, ReasonField } from "../parts/reason-field.tsx";

type Change = BodyOf<"post /runs/:id">;

function useChange(id: number, onDone?: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Change) => request("post /runs/:id", { params: { id: String(id) }, body }),
    onSuccess: () => onDone?.(),
    onSettled: () => client.invalidateQueries({ queryKey: ["runs"] }),
  });
}

interface RunActsProps {
  readonly run: BulkRun;
  /** The element that takes the focus when the run ends and its buttons go away. */
  readonly focusNext: RefObject<HTMLElement | null>;
}

/** Pauses, resumes, slows down, and stops a run that is open. */
export function RunActs({ run, focusNext }: RunActsProps) {
  const { id, state } = run;
  const change = useChange(id);
  const [rate, setRate] = useState(String(run.rate));
  const [isStopping, setStopping] = useState(false);
  const newRate = readRate(rate);
  const acts = useRef<HTMLDivElement>(null);
  // Before the buttons leave the page: afterwards the focus would be nowhere.
  useLayoutEffect(() => {
    const [mine, next] = [acts.current, focusNext];
    return () => {
      if (mine?.contains(document.activeElement)) next.current?.focus();
    };
  }, [focusNext]);
  return (
    <div ref={acts}>
      <div className="run-acts">
        {/* One button for both, so that it keeps the focus. */}
        <button onClick={() => change.mutate({ state: state === "paused" ? "running" : "paused" })}>
          {state === "paused" ? "Resume" : "Pause"}
        </button>
        <button className="danger" onClick={() => setStopping(true)}>
          Stop…
        </button>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (newRate !== undefined) change.mutate({ rate: newRate });
          }}
        >
          <RateField value={rate} onChange={setRate} />
          <button disabled={newRate === undefined}>Set rate</button>
        </form>
      </div>
      {change.error && <ErrorNote error={change.error} />}
      {isStopping && <StopDialog run={run} onClose={() => setStopping(false)} />}
    </div>
  );
}

function StopDialog({ run, onClose }: { run: BulkRun; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const stop = useChange(run.id, onClose);
  return (
    <Modal title={`Stop run ${run.id}`} onClose={onClose}>
      <p>Events that it has reached run to their end. The others are left as they are.</p>
      <ReasonField value={reason} onChange={setReason} />
      {stop.error && <ErrorNote error={stop.error} />}
      <div className="actions">
        <button onClick={onClose}>Cancel</button>
        <button
          className="danger"
          disabled={stop.isPending}
          onClick={() => stop.mutate({ state: "stopped", ...reasonBody(reason) })}
        >
          Stop run {run.id}
        </button>
      </div>
    </Modal>
  );
}
