import { expect, test } from "vitest";
import { readSetUpTable } from "../infra/set-ups-table.ts";
import { SET_UPS } from "../infra/set-ups.ts";

test("each row of the table of set-ups is tried, and each set-up that is tried has its row", () => {
  const rows = readSetUpTable();
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.map(({ setUp }) => setUp).toSorted()).toEqual(Object.keys(SET_UPS).toSorted());
});
