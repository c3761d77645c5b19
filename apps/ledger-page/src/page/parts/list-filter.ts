import type { EventRow } from "@millrace/api-contract";

const KEYS = [
  "source",
  "status",
  /** A fingerprint. */
  "error",
  /** A search: `customer:cus_1 since:7d evt_12`. */
  "find",
  /** A span that moves on, such as `1h`. */
  "last",
] as const;
/** Of links, in the words of a search. */
const TERMS = ["tenant", "type", "outcome", "run", "since", "until", "q"] as const;

type Filter<Key extends string> = { readonly [Name in Key]?: string | undefined };
export type ListFilter = Filter<(typeof KEYS)[number]>;
type LinkFilter = ListFilter & Filter<(typeof TERMS)[number]>;

export const SPANS: Readonly<Record<string, { readonly ms: number; readonly label: string }>> = {
  "15m": { ms: 900_000, label: "Last 15 minutes" },
  "1h": { ms: 3_600_000, label: "Last hour" },
  "24h": { ms: 86_400_000, label: "Last 24 hours" },
  "7d": { ms: 604_800_000, label: "Last 7 days" },
};

export function readFilter(query: URLSearchParams): ListFilter {
  const given = KEYS.map((key) => [key, query.get(key) ?? ""] as const);
  const filter: LinkFilter = Object.fromEntries(given.filter(([, value]) => value !== ""));
  const terms = TERMS.map((key) => searchTerm(key === "q" ? "" : key, query.get(key) ?? ""));
  const find = [filter.find ?? "", ...terms].filter((term) => term !== "").join(" ");
  return find === "" ? filter : { ...filter, find };
}

/** As a search has it: `customer:cus_1`, `customer:"Ada L."`, or a value without a key. */
export function searchTerm(key: string, value: string): string {
  if (value === "") return "";
  const isPlain = /^[^\s":]+$/.test(value);
  const text = isPlain ? value : `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
  return key === "" ? text : `${key}:${text}`;
}

/** The terms of a search, as they are written: `customer:"Ada L."` is one. */
export function termsOf(find: string | undefined): readonly string[] {
  return find?.match(/(?:[\w-]+:)?"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
}

export function writeFilter(filter: LinkFilter): string {
  const query = new URLSearchParams();
  for (const key of [...KEYS, ...TERMS]) {
    const value = filter[key];
    if (value !== undefined && value !== "") query.set(key, value);
  }
  return query.toString();
}

export const isFiltered = (filter: ListFilter): boolean => writeFilter(filter) !== "";

/** A span becomes the time at which it began. */
export function apiFilter({ last, ...filter }: ListFilter, nowMs: number) {
  const span = last === undefined ? undefined : SPANS[last];
  if (span === undefined) return filter;
  return { ...filter, since: new Date(nowMs - span.ms).toISOString() };
}

type LinkedEvent = Pick<EventRow, "source" | "event_id"> & { readonly generation?: number | null };

/** Without a generation the page shows the latest. */
export function eventLink({ source, event_id: id, generation }: LinkedEvent): string {
  const query = new URLSearchParams({ source, id });
  if (typeof generation === "number") query.set("generation", String(generation));
  return `/event?${query}`;
}

/** Of an event that a list led to: the links of that list, and its query. */
export interface ListState {
  readonly list: readonly string[];
  readonly back: string;
}
