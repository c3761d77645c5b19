import type { REASON_LENGTH_MAX } from "@millrace/api-contract";
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";

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

interface ReasonFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The reason of an action, for the audit. */
export function ReasonField({ value, onChange }: ReasonFieldProps) {
  return (
    <label className="field">
      <span>
        Reason <span className="quiet">(optional, kept in the audit)</span>
      </span>
      <textarea
        name="reason"
        rows={2}
        maxLength={LENGTH_MAX}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        placeholder="What was wrong and how it was fixed"
      />
    </label>
  );
}

/** The part of a write's body for a reason: nothing for an empty one. */
export function reasonBody(reason: string): { reason?: string } {
  const text = reason.trim();
  return text === "" ? {} : { reason: text };
}
