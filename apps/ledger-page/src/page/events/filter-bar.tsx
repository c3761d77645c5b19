import { X } from "lucide-react";
import { ErrorTitle } from "../errors/error-title.tsx";
import { STATUSES } from "../parts/badge.tsx";
import { Filters, SelectField, SourceFilter, TextFilter } from "../parts/filters.tsx";
import { isFiltered, SPANS } from "../parts/list-filter.ts";
import type { List } from "./use-list.ts";

export function FilterBar({ list }: { list: List }) {
  const { filter, narrow } = list;
  return (
    <Filters label="Events">
      <SourceFilter value={filter.source} onChange={(source) => narrow({ source })} />
      <SelectField
        label="Status"
        value={filter.status}
        any="All statuses"
        options={STATUSES}
        onChange={(status) => narrow({ status })}
      />
      <SelectField
        label="Recorded"
        value={filter.last}
        any="Any time"
        options={Object.keys(SPANS)}
        textOf={(option) => SPANS[option]?.label ?? option}
        onChange={(last) => narrow({ last })}
      />
      <TextFilter
        label="Search"
        name="find"
        placeholder="ID, type:order.*, since:7d, body:text"
        value={filter.find ?? ""}
        onChange={(find, replace) => narrow({ find }, replace)}
      />
      {filter.error !== undefined && (
        <button type="button" onClick={() => narrow({ error: "" })}>
          Error: <ErrorTitle fingerprint={filter.error} />
          <X aria-label="Show all" />
        </button>
      )}
      {isFiltered(filter) && (
        <button type="button" className="plain" onClick={() => narrow(NOTHING)}>
          Clear
        </button>
      )}
    </Filters>
  );
}

const NOTHING = { source: "", status: "", error: "", find: "", last: "" };
