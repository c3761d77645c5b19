import type { List } from "./use-list.ts";

const WORDS = {
  desc: { first: "Newest", previous: "← Newer", next: "Older →" },
  asc: { first: "Oldest", previous: "← Older", next: "Newer →" },
} as const;

/** The way to the pages before and behind this one. */
export function Pager({ list, next }: { list: List; next: string | null | undefined }) {
  const { cursor, trail, order } = list;
  const words = WORDS[order];
  return (
    <nav className="pager" aria-label="Pages">
      <button onClick={() => list.first()} disabled={cursor === undefined}>
        {words.first}
      </button>
      <button onClick={() => list.previous()} disabled={trail.length === 0}>
        {words.previous}
      </button>
      <button onClick={() => list.next(next ?? "")} disabled={next === null || next === undefined}>
        {words.next}
      </button>
    </nav>
  );
}
