import type { ActivityBucket } from "@millrace/api-contract";
import type { Ledger } from "@millrace/ledger";
import { expect, test } from "vitest";
import { createActivityReader } from "./activity-reader.ts";

const MINUTE = 60_000;

/** A ledger whose clock a test sets, and whose rows name the call that counted them. */
function ledgerAt(clock: { minute: number }) {
  const calls: Record<"source" | "type" | "before", string | undefined>[] = [];
  let failsAt = Infinity;
  const ledger: Pick<Ledger["reads"], "activity"> = {
    activity: async ({ source, type, minutes, before }) => {
      calls.push({ source, type, before });
      if (calls.length >= failsAt) throw new Error("too slow");
      const end = before === undefined ? clock.minute + 1 : Date.parse(before) / MINUTE;
      return Array.from({ length: minutes }, (_, index): ActivityBucket => {
        const at = new Date((end - minutes + index) * MINUTE).toISOString();
        const counted = { recorded: calls.length, completed: 0, failed: 0 };
        return { at, ...counted, p50_ms: null, p95_ms: null, waited_p95_ms: null };
      });
    },
  };
  return { ledger, calls, failFrom: (call: number) => (failsAt = call) };
}

const hourAt = (minute: number) =>
  Array.from({ length: 60 }, (_, index) => new Date((minute - 59 + index) * MINUTE).toISOString());

test("the first reading counts an hour slice by slice, the next ones what is new", async () => {
  const clock = { minute: 29_000_000 };
  const { ledger, calls } = ledgerAt(clock);
  const read = createActivityReader(ledger);
  expect((await read({})).map(({ at }) => at)).toEqual(hourAt(clock.minute));
  expect(calls).toHaveLength(12);
  for (const passed of [0, 1, 4]) {
    clock.minute += passed;
    const rows = await read({});
    expect(rows.map(({ at }) => at)).toEqual(hourAt(clock.minute));
    expect(rows.slice(-5).map(({ recorded }) => recorded)).toEqual(Array(5).fill(calls.length));
  }
  expect(calls).toHaveLength(15);
});

test("after a while without one the gap is counted, and after an hour all of it", async () => {
  const clock = { minute: 29_000_000 };
  const { ledger, calls } = ledgerAt(clock);
  const read = createActivityReader(ledger);
  await read({ source: "acme" });
  clock.minute += 20;
  expect((await read({ source: "acme" })).map(({ at }) => at)).toEqual(hourAt(clock.minute));
  expect(calls.length).toBeLessThanOrEqual(12 + 5);
  clock.minute += 500;
  const before = calls.length;
  expect((await read({ source: "acme" })).map(({ at }) => at)).toEqual(hourAt(clock.minute));
  expect(calls.length - before).toBe(12);
});

test("each source has its own minutes, and a reading that failed goes on where it was", async () => {
  const clock = { minute: 29_000_000 };
  const { ledger, calls, failFrom } = ledgerAt(clock);
  const read = createActivityReader(ledger);
  failFrom(8);
  await expect(read({ source: "acme" })).rejects.toThrow("too slow");
  failFrom(Infinity);
  const before = calls.length;
  expect(await read({ source: "acme" })).toHaveLength(60);
  expect(calls.length - before).toBe(1 + 5);
  await read({ source: "acme", type: "order.paid" });
  expect(calls.filter(({ type }) => type === "order.paid")).toHaveLength(12);
});
