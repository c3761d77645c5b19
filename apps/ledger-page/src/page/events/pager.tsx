import type { List } from "./use-list.ts";

/** The way to older and newer pages. */
export function Pager({ list, next }: { list: List; next: string | null | undefined }) {
  const { cursor, trail } = list;
  return (
    <nav className="pager" aria-label="Pages">
      <button onClick={() => list.newest()} disabled={cursor === undefined}>
        Newest
      </button>
      <button onClick={() => list.newer()} disabled={trail.length === 0}>
        ← Newer
      </button>
      <button onClick={() => list.older(next ?? "")} disabled={next === null || next === undefined}>
        Older →
      </button>
    </nav>
  );
}
