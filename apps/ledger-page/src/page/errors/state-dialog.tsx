import type { ErrorGroup } from "@millrace/api-contract";
import { request } from "../api/request.ts";
import { ReasonDialog } from "../parts/dialog.tsx";
import { notify } from "../parts/notice.tsx";

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

const NOTE = {
  name: "note",
  label: "Note",
  hint: "(optional, shown with the error)",
  placeholder: "Fixed in 2.4.1",
};

export function StateDialog({ error, state, onClose }: Props) {
  const { label, done, meaning } = WORDS[state];
  const { fingerprint } = error;
  return (
    <ReasonDialog
      title={`${label} this error`}
      label={label}
      field={NOTE}
      act={(note) =>
        request("post /errors/:fingerprint", { params: { fingerprint }, body: { state, note } })
      }
      onDone={() => notify({ kind: "done", text: done })}
      onClose={onClose}
    >
      <p>{meaning}</p>
      <p>
        <code className="error-title">{error.title}</code>
      </p>
    </ReasonDialog>
  );
}
