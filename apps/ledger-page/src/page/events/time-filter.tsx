import { useState } from "react";
import { SPANS } from "./list-filter.ts";
import { fromLocal, toLocal } from "./local-time.ts";
import type { List } from "./use-list.ts";

const BETWEEN = "between";

/** When the events were recorded: a span that moves on, or between two times. */
export function TimeFilter({ list: { filter, narrow } }: { list: List }) {
  const isBetween = filter.since !== undefined || filter.until !== undefined;
  const [wantsBetween, setWantsBetween] = useState(false);
  const choice = filter.last ?? (isBetween || wantsBetween ? BETWEEN : "");
  const choose = (value: string) => {
    setWantsBetween(value === BETWEEN);
    if (value === BETWEEN) narrow({ last: "" });
    else narrow({ last: value, since: "", until: "" });
  };
  return (
    <>
      <label className="field">
        <span>Recorded</span>
        <select value={choice} onChange={(event) => choose(event.target.value)}>
          <option value="">Any time</option>
          {Object.entries(SPANS).map(([span, { label }]) => (
            <option key={span} value={span}>
              {label}
            </option>
          ))}
          <option value={BETWEEN}>Between…</option>
        </select>
      </label>
      {choice === BETWEEN && (
        <>
          <Instant label="From" value={filter.since} onChange={(since) => narrow({ since })} />
          <Instant label="Before" value={filter.until} onChange={(until) => narrow({ until })} />
        </>
      )}
    </>
  );
}

interface InstantProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
}

function Instant({ label, value, onChange }: InstantProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        type="datetime-local"
        step={1}
        value={toLocal(value)}
        onChange={(event) => onChange(fromLocal(event.target.value))}
      />
    </label>
  );
}
