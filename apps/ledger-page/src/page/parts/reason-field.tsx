const REASON_MAX = 500;

interface Props {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Why something is done, for the audit. */
export function ReasonField({ value, onChange }: Props) {
  return (
    <label className="field">
      <span>
        Reason <span className="quiet">(kept in the audit; may be empty)</span>
      </span>
      <textarea
        name="reason"
        rows={2}
        maxLength={REASON_MAX}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        placeholder="What was wrong, and is mended"
      />
    </label>
  );
}

/** What goes into the body of a write: nothing for an empty reason. */
export function reasonBody(reason: string): { reason?: string } {
  const text = reason.trim();
  return text === "" ? {} : { reason: text };
}
