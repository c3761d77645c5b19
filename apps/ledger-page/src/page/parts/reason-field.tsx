import type { REASON_LENGTH_MAX } from "@millrace/api-contract";

const LENGTH_MAX: typeof REASON_LENGTH_MAX = 500;

interface Props {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Why something is done, for the audit. */
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

/** What goes into the body of a write: nothing for an empty reason. */
export function reasonBody(reason: string): { reason?: string } {
  const text = reason.trim();
  return text === "" ? {} : { reason: text };
}
