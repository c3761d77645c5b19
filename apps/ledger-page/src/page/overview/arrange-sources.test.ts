import type { SourceStats } from "@millrace/api-contract";
import { expect, test } from "vitest";
import { arrangeSources, nextOrder, type NamedSource, type Order } from "./arrange-sources.ts";

const JOBS = {
  waiting: 0,
  active: 0,
  delayed: 0,
  completed: 0,
  failed: 0,
  removed: 0,
  paused: false,
};
const QUIET: SourceStats = {
  ...{ pending: 0, completed: 9, failed: 0, queued: 0 },
  jobs: JOBS,
  refused: [],
};

const FORTY: readonly NamedSource[] = Array.from({ length: 40 }, (_, index) => [
  `source-${String(index).padStart(2, "0")}`,
  QUIET,
]);
const with3 = FORTY.map(([name, of], index): NamedSource => {
  if (index === 5) return [name, { ...of, failed: 2 }];
  if (index === 9) return [name, { ...of, jobs: { ...JOBS, paused: true } }];
  if (index === 11) return [name, { ...of, refused: [{ reason: "too_old", deliveries: 1 }] }];
  if (index === 7) return [name, { ...of, queued: null, jobs: null }];
  return [name, of];
});
const BY_NAME: Order = { column: "source", descending: false };
const FOLDED = { search: "", order: BY_NAME, folded: true };
const names = (rows: readonly NamedSource[]) => rows.map(([name]) => name);

test("of forty sources those with trouble stay", () => {
  const { rows, quiet } = arrangeSources(with3, FOLDED);
  expect([names(rows), quiet]).toEqual([["source-05", "source-07", "source-09", "source-11"], 36]);
  expect(arrangeSources(with3, { ...FOLDED, folded: false }).rows).toHaveLength(40);
});

test("few sources and a search fold nothing", () => {
  expect(arrangeSources(FORTY.slice(0, 8), FOLDED)).toMatchObject({ quiet: 0 });
  expect(names(arrangeSources(with3, { ...FOLDED, search: " SOURCE-1" }).rows)).toHaveLength(10);
});

test("a column sorts from the largest number, and again from the smallest; unknown ones are lowest", () => {
  const first = nextOrder(BY_NAME, "queued");
  const sort = (order: Order) =>
    names(arrangeSources(with3, { ...FOLDED, order, folded: false }).rows);
  expect(sort(first).at(-1)).toBe("source-07");
  expect(sort(nextOrder(first, "queued"))[0]).toBe("source-07");
  expect(sort(nextOrder(BY_NAME, "failed"))[0]).toBe("source-05");
  expect(sort(nextOrder(BY_NAME, "source"))[0]).toBe("source-39");
});
