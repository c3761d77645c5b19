import type { ErrorGroup } from "@millrace/api-contract";
import { useState } from "react";
import { request } from "../api/request.ts";
import { ReasonDialog } from "../parts/dialog.tsx";
import { notify } from "../parts/notice.tsx";
import type { MenuItem } from "../parts/row-menu.tsx";
import { BulkDialog } from "../runs/bulk-dialog.tsx";
import { useMayWrite } from "../session/session.ts";

type Act = "retry" | ErrorGroup["state"];

/** The acts that a user may choose for an error, and the dialog of the chosen one. */
export function useErrorActs(error: ErrorGroup, source?: string) {
  const [act, setAct] = useState<Act>();
  const mayWrite = useMayWrite();
  const { failed, state } = error;
  const items: MenuItem[] = [
    { text: "Retry these…", disabled: failed === 0, act: () => setAct("retry") },
    ...(state === "open"
      ? [
          { text: "Resolve…", act: () => setAct("resolved") },
          { text: "Ignore…", act: () => setAct("ignored") },
        ]
      : [{ text: "Reopen…", act: () => setAct("open") }]),
  ];
  const close = () => setAct(undefined);
  return {
    items: mayWrite ? items : [],
    dialog:
      act === undefined ? null : act === "retry" ? (
        <BulkDialog verb="retry" filter={{ error: error.fingerprint, source }} onClose={close} />
      ) : (
        <StateDialog error={error} state={act} onClose={close} />
      ),
  };
}

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

function StateDialog({ error, state, onClose }: Props) {
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
      onDone={() => notify(done)}
      onClose={onClose}
    >
      <p>{meaning}</p>
      <code className="cause">{error.title}</code>
    </ReasonDialog>
  );
}
