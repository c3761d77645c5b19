import { expect, test } from "vitest";
import { readSetUpTable } from "../infra/set-ups-table.ts";
import { SET_UPS } from "../infra/set-ups.ts";

test("each row of the table of set-ups is tried, and each set-up that is tried has its row", () => {
  const rows = readSetUpTable();
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.map(({ setUp }) => setUp).toSorted()).toEqual(Object.keys(SET_UPS).toSorted());
});

test("each row says what a start does, and quotes what it prints", () => {
  for (const { setUp, start, printed, doctor } of readSetUpTable()) {
    expect([setUp, start]).toEqual([setUp, expect.stringMatching(/^(refused|waits|warns|ready)$/)]);
    const says = [printed.length > 0, doctor !== undefined];
    if (start !== "ready") expect([setUp, ...says]).toEqual([setUp, true, true]);
  }
});
