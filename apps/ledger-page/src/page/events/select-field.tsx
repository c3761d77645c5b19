interface Props {
  readonly label: string;
  readonly value: string | undefined;
  /** The text for no choice. */
  readonly any: string;
  readonly options: readonly string[];
  readonly onChange: (value: string) => void;
}

/** One of a few values, or none. A value from the URL that is not among them stays seen. */
export function SelectField({ label, value, any, options, onChange }: Props) {
  const known = value === undefined || options.includes(value) ? options : [...options, value];
  return (
    <label className="field">
      <span>{label}</span>
      <select value={value ?? ""} onChange={(event) => onChange(event.target.value)}>
        <option value="">{any}</option>
        {known.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}
