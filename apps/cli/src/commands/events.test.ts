import type { EventRow } from "@millrace/api-contract";
import { afterEach, expect, test, vi } from "vitest";
import { readPages } from "./events.ts";

afterEach(() => vi.restoreAllMocks());

const rows = ["evt_3", "evt_2", "evt_1"].map((id, n) => {
  const recorded_at = `2026-11-21T12:00:0${3 - n}.500Z`;
  return { event_id: id, recorded_at } as EventRow;
});

type Find = Parameters<typeof readPages>[0];

/** A row a page, and before each an empty page of a search that goes on. */
const find: Find = async ({ cursor = "0", limit = 50 }) => {
  const at = Number(cursor);
  const row = rows[(at - 1) / 2];
  if (row === undefined) {
    const to = `2026-11-21T12:00:0${3 - at / 2}.900Z`;
    return { events: [], next: at < 6 ? String(at + 1) : null, searched_to: at < 6 ? to : null };
  }
  return { events: [row], next: String(at + 1), searched_to: limit === 1 ? null : row.recorded_at };
};

async function list(limit: number) {
  const [ids, notes]: [string[], string[]] = [[], []];
  const note = (text: string) => void notes.push(text);
  for await (const { event_id: id } of readPages(find, limit, note)) ids.push(id);
  return { ids, notes };
}

test("a list reads on behind empty pages to the end, and says on long work how far it is", async () => {
  expect(await list(50)).toEqual({ ids: ["evt_3", "evt_2", "evt_1"], notes: [] });
  let nowMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 1_500));
  expect((await list(50)).notes.slice(0, 2)).toEqual([
    "searched back to 2026-11-21T12:00:03.500Z",
    "searched back to 2026-11-21T12:00:02.500Z",
  ]);
});

test("a list that ends at its limit says how to go on", async () => {
  const { ids, notes } = await list(2);
  expect(ids).toEqual(["evt_3", "evt_2"]);
  expect(notes).toEqual([
    "only the newest 2 are listed: give a higher --limit, or --until 2026-11-21T12:00:02.501Z",
  ]);
});
