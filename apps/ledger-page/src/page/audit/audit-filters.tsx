import { useQuery } from "@tanstack/react-query";
import { statsQuery } from "../api/queries.ts";
import { SelectField } from "../events/select-field.tsx";
import { TextFilter } from "../events/text-filter.tsx";
import type { AuditView } from "./use-audit-view.ts";

/** The fields that narrow the audit. Their values live in the URL. */
export function AuditFilters({ view }: { view: AuditView }) {
  const stats = useQuery(statsQuery);
  return (
    <form
      role="search"
      aria-label="Audit"
      className="filters"
      onSubmit={(event) => event.preventDefault()}
    >
      <SelectField
        label="Source"
        value={view.source}
        any="All sources"
        options={Object.keys(stats.data?.sources ?? {})}
        onChange={(value) => view.change("source", value)}
      />
      <TextFilter
        label="Event ID"
        placeholder="evt_1"
        value={view.eventId ?? ""}
        onChange={(value, replace) => view.change("event_id", value, replace)}
      />
    </form>
  );
}
