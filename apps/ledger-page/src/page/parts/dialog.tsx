import type { REASON_LENGTH_MAX } from "@millrace/api-contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { ErrorNote } from "./notice.tsx";

interface ModalProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog over the page: it keeps the focus, ends on Escape, and gives the focus back. */
export function Modal({ title, onClose, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className="modal"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}

const LENGTH_MAX: typeof REASON_LENGTH_MAX = 500;

const REASON = {
  name: "reason",
  label: "Reason",
  hint: "(optional, kept in the audit)",
  placeholder: "What was wrong and how it was fixed",
};

interface ReasonDialogProps<Answer> {
  readonly title: string;
  /** Of the button. Default: the title. */
  readonly label?: string;
  readonly className?: "primary" | "danger";
  readonly disabled?: boolean;
  readonly field?: typeof REASON;
  readonly children: ReactNode;
  readonly act: (reason: string | undefined) => Promise<Answer>;
  readonly onDone?: (answer: Answer) => void | Promise<void>;
  readonly onClose: () => void;
}

/** Closes when the act is done, and else shows the error. */
export function ReasonDialog<Answer>(props: ReasonDialogProps<Answer>) {
  const { title, label = title, className = "primary", disabled = false, field = REASON } = props;
  const { children, act, onDone, onClose } = props;
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const run = useMutation({
    mutationFn: () => act(reason.trim() === "" ? undefined : reason.trim()),
    onSuccess: async (answer) => {
      onClose();
      await onDone?.(answer);
    },
    onSettled: () => client.invalidateQueries(),
  });
  return (
    <Modal title={title} onClose={onClose}>
      {children}
      <label className="field">
        <span>
          {field.label} <span className="quiet">{field.hint}</span>
        </span>
        <textarea
          name={field.name}
          rows={2}
          maxLength={LENGTH_MAX}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          placeholder={field.placeholder}
        />
      </label>
      {run.error && <ErrorNote error={run.error} />}
      <div className="actions">
        <button onClick={onClose}>Cancel</button>
        <button
          className={className}
          onClick={() => run.mutate()}
          disabled={disabled || run.isPending}
        >
          {label}
        </button>
      </div>
    </Modal>
  );
}
