import type { ErrorGroup } from "@millrace/api-contract";
import { expect, test } from "vitest";
import { listText } from "./errors.ts";

const NOW = new Date().toISOString();
const ERROR: ErrorGroup = {
  ...{ fingerprint: "1-7c1f0e52b6a94d38", title: "No stock", code: "handler_failed" },
  ...{ state: "open", note: null, state_by: null, state_at: null, owner: null, reopened_at: null },
  ...{ attempts: 8_213, failed: 8_100, pending: 113, first_seen_at: NOW, last_seen_at: NOW },
  sources: [
    { source: "shop", type: "order.paid", attempts: 8_000 },
    { source: "shop", type: "order.sent", attempts: 200 },
    { source: "bank", type: "paid", attempts: 13 },
  ],
  sample: { source: "shop", event_id: "evt_1", generation: 0 },
  line: "src/ship.ts:7",
};
const listed = (error: ErrorGroup) =>
  listText([error], 1, { isTTY: true, columns: 80, write: () => true }).split("\n");

test("an error of the list has its attempts and events, its line and its sources in 80 columns", () => {
  expect(listed(ERROR)).toEqual([
    "1-7c1f0e52b6a94d38  open  8213 attempts, 8100 events failed, 113 pending",
    "  No stock",
    expect.stringMatching(/^  at src\/ship\.ts:7, last seen \ds ago in shop, bank$/),
  ]);
  expect(listed({ ...ERROR, line: null })[2]).toMatch(/^  last seen \ds ago in shop, bank$/);
});
