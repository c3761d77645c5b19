import { useSearchParams } from "react-router";

/** The filter of the audit in the URL. */
export interface AuditView {
  readonly source: string | undefined;
  readonly eventId: string | undefined;
  /** Undefined on the first page, the newest. */
  readonly cursor: string | undefined;
  /** Changes one part of it; another source or event begins at the first page. */
  change(key: "source" | "event_id" | "cursor", value: string, replace?: boolean): void;
}

/** Reads the view from the URL, and writes it there. */
export function useAuditView(): AuditView {
  const [query, setQuery] = useSearchParams();
  const given = (key: string) => query.get(key) ?? undefined;
  return {
    source: given("source"),
    eventId: given("event_id"),
    cursor: given("cursor"),
    change: (key, value, replace = false) => {
      const next = new URLSearchParams(query);
      next.delete("cursor");
      if (value === "") next.delete(key);
      else next.set(key, value);
      setQuery(next, { replace });
    },
  };
}
