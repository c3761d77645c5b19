import type { OUTCOMES as Outcomes } from "@millrace/api-contract";
import { X } from "lucide-react";
import { useId, useState } from "react";
import { ErrorTitle } from "../errors/error-title.tsx";
import { STATUSES } from "../parts/badge.tsx";
import { Filters, SelectField, SourceFilter, TextFilter } from "../parts/filters.tsx";
import { fromLocal, isFiltered, SPANS, toLocal } from "../parts/list-filter.ts";
import type { List } from "./use-list.ts";

const OUTCOMES: typeof Outcomes = ["handled", "ignored"];

export function FilterBar({ list, types }: { list: List; types: readonly string[] }) {
  const typesId = useId();
  const { filter, narrow } = list;
  return (
    <Filters label="Events">
      <SourceFilter value={filter.source} onChange={(source) => narrow({ source })} />
      <TextFilter
        label="Tenant"
        placeholder="Tenant"
        value={filter.tenant ?? ""}
        onChange={(tenant, replace) => narrow({ tenant }, replace)}
      />
      <SelectField
        label="Status"
        value={filter.status}
        any="All statuses"
        options={STATUSES}
        onChange={(status) => narrow({ status })}
      />
      <SelectField
        label="Outcome"
        value={filter.outcome}
        any="All outcomes"
        options={OUTCOMES}
        onChange={(outcome) => narrow({ outcome })}
      />
      <TextFilter
        label="Type"
        placeholder="Type"
        listId={typesId}
        value={filter.type ?? ""}
        onChange={(type, replace) => narrow({ type }, replace)}
      />
      <TextFilter
        label="ID starts with"
        name="q"
        placeholder="Event ID"
        value={filter.q ?? ""}
        onChange={(q, replace) => narrow({ q }, replace)}
      />
      <TimeFilter list={list} />
      {filter.error !== undefined && (
        <button type="button" onClick={() => narrow({ error: "" })}>
          Error: <ErrorTitle fingerprint={filter.error} />
          <X aria-label="Show all" />
        </button>
      )}
      {filter.run !== undefined && (
        <button type="button" onClick={() => narrow({ run: "" })}>
          Run {filter.run}
          <X aria-label="Show all" />
        </button>
      )}
      {isFiltered(filter) && (
        <button type="button" className="plain" onClick={() => narrow(NOTHING)}>
          Clear
        </button>
      )}
      <datalist id={typesId}>
        {types.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
    </Filters>
  );
}

const NOTHING = {
  ...{ source: "", tenant: "", status: "", outcome: "", type: "", error: "", q: "", run: "" },
  ...{ last: "", since: "", until: "" },
};

const BETWEEN = "between";

function TimeFilter({ list: { filter, narrow } }: { list: List }) {
  const isBetween = filter.since !== undefined || filter.until !== undefined;
  const [wantsBetween, setWantsBetween] = useState(false);
  const choice = filter.last ?? (isBetween || wantsBetween ? BETWEEN : undefined);
  const choose = (value: string) => {
    setWantsBetween(value === BETWEEN);
    if (value === BETWEEN) narrow({ last: "" });
    else narrow({ last: value, since: "", until: "" });
  };
  return (
    <>
      <SelectField
        label="Recorded"
        value={choice}
        any="Any time"
        options={[...Object.keys(SPANS), BETWEEN]}
        textOf={(option) => (option === BETWEEN ? "Between…" : (SPANS[option]?.label ?? option))}
        onChange={choose}
      />
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
