import type { ErrorGroup, REASON_LENGTH_MAX } from "@millrace/api-contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { request } from "../api/request.ts";
import { Modal } from "../parts/dialog.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { notify } from "../parts/notice.tsx";

const NOTE_LENGTH_MAX: typeof REASON_LENGTH_MAX = 500;

const WORDS = {
  resolved: {
    label: "Resolve",
    done: "Resolved.",
    meaning: "It leaves the list of open errors. If it comes back, it is open again and says so.",
  },
  ignored: {
    label: "Ignore",
    done: "Ignored.",
    meaning: "It leaves the list of open errors and stays away, also when it comes back.",
  },
  open: { label: "Reopen", done: "Reopened.", meaning: "It stands among the open errors again." },
} as const;

interface Props {
  readonly error: ErrorGroup;
  readonly state: ErrorGroup["state"];
  readonly onClose: () => void;
}

/** Sets the state of an error, with a note for the next reader. */
export function StateDialog({ error, state, onClose }: Props) {
  const [note, setNote] = useState("");
  const client = useQueryClient();
  const { label, done, meaning } = WORDS[state];
  const set = useMutation({
    mutationFn: () =>
      request("post /errors/:fingerprint", {
        params: { fingerprint: error.fingerprint },
        body: { state, ...(note.trim() === "" ? {} : { note: note.trim() }) },
      }),
    onSuccess: () => {
      onClose();
      notify({ kind: "done", text: done });
    },
    onSettled: () => client.invalidateQueries(),
  });
  return (
    <Modal title={`${label} this error`} onClose={onClose}>
      <p>{meaning}</p>
      <p>
        <code className="error-title">{error.title}</code>
      </p>
      <label className="field">
        <span>
          Note <span className="quiet">(optional, shown with the error)</span>
        </span>
        <textarea
          name="note"
          rows={2}
          maxLength={NOTE_LENGTH_MAX}
          value={note}
          onChange={(event) => setNote(event.target.value)}
          placeholder="Fixed in 2.4.1"
        />
      </label>
      {set.error && <ErrorNote error={set.error} />}
      <div className="actions">
        <button onClick={onClose}>Cancel</button>
        <button className="primary" onClick={() => set.mutate()} disabled={set.isPending}>
          {label}
        </button>
      </div>
    </Modal>
  );
}
