import type { REASON_LENGTH_MAX } from "@millrace/api-contract";

const LENGTH_MAX: typeof REASON_LENGTH_MAX = 500;

interface Props {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The reason of an action, for the audit. */
export function ReasonField({ value, onChange }: Props) {
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
