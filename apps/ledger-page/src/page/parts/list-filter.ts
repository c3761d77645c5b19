const KEYS = [
  "source",
  "tenant",
  "status",
  "outcome",
  "type",
  /** A fingerprint. */
  "error",
  /** An event ID, or its beginning. */
  "q",
  /** A bulk run that retried or replayed them. */
  "run",
  /** A span that moves on, such as `1h`; without it `since` and `until`. */
  "last",
  "since",
  "until",
] as const;

export type ListFilter = { readonly [Key in (typeof KEYS)[number]]?: string | undefined };

export const SPANS: Readonly<Record<string, { readonly ms: number; readonly label: string }>> = {
  "15m": { ms: 900_000, label: "Last 15 minutes" },
  "1h": { ms: 3_600_000, label: "Last hour" },
  "24h": { ms: 86_400_000, label: "Last 24 hours" },
  "7d": { ms: 604_800_000, label: "Last 7 days" },
};

export function readFilter(query: URLSearchParams): ListFilter {
  const given = KEYS.map((key) => [key, query.get(key) ?? ""] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

export function writeFilter(filter: ListFilter): string {
  const query = new URLSearchParams();
  for (const key of KEYS) {
    const value = filter[key];
    if (value !== undefined && value !== "") query.set(key, value);
  }
  return query.toString();
}

export const isFiltered = (filter: ListFilter): boolean => writeFilter(filter) !== "";

/** A span becomes the time at which it began. */
export function apiFilter(filter: ListFilter, nowMs: number): Omit<ListFilter, "last"> {
  const { last, since, ...rest } = filter;
  const span = last === undefined ? undefined : SPANS[last];
  const from = span === undefined ? since : new Date(nowMs - span.ms).toISOString();
  return from === undefined ? rest : { ...rest, since: from };
}

/** Without a generation the page shows the latest. */
export function eventLink(source: string, id: string, generation?: number): string {
  const query = new URLSearchParams({ source, id });
  if (generation !== undefined) query.set("generation", String(generation));
  return `/event?${query}`;
}

/** Of an event that a list led to: the links of that list, and its query. */
export interface ListState {
  readonly list: readonly string[];
  readonly back: string;
}

/** In the browser's zone, as `datetime-local` takes it. */
export function toLocal(instant: string | undefined): string {
  const ms = Date.parse(instant ?? "");
  if (Number.isNaN(ms)) return "";
  const offsetMs = new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - offsetMs).toISOString().slice(0, 19);
}

export function fromLocal(local: string): string {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? "" : new Date(ms).toISOString();
}
