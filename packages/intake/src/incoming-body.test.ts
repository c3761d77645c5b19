import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ByteBudget } from "./byte-budget.ts";
import { BodyClock, IncomingBody, type BodyRead } from "./incoming-body.ts";

const MB = 1_000_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A body of the one source of a budget of 64 MB. */
function begin(length?: number, { bytesMax = 25 * MB, clock = new BodyClock(30_000) } = {}) {
  const budget = new ByteBudget(64 * MB, new Map([["only", bytesMax]]));
  let read: BodyRead | undefined;
  const bytes = budget.of("only");
  const body = new IncomingBody({ bytesMax, bytes, clock, length }, (result) => (read = result));
  const code = () => (read === undefined || read.ok ? undefined : read.rejection.code);
  return { budget, body, read: () => read, code };
}

test("a body in one piece is that piece, and is not copied", () => {
  const { budget, body, read } = begin(5);
  const piece = Buffer.from("whole");
  body.add(piece);
  body.end();
  expect(read()).toMatchObject({ ok: true, bytes: 5 });
  expect(read()).toHaveProperty("body", piece);
  const result = read();
  expect(result?.ok === true && result.body === piece).toBe(true);
  expect(budget.taken).toBe(5);
  expect(vi.getTimerCount()).toBe(0);
});

test("pieces are put together, and cost no more than twice their bytes", () => {
  const { budget, body, read } = begin();
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251));
  for (let at = 0; at < bytes.length; at += 1_000) {
    body.add(bytes.subarray(at, at + 1_000));
    expect(budget.taken).toBeGreaterThanOrEqual(body.size);
    expect(budget.taken).toBeLessThanOrEqual(2 * body.size);
  }
  body.end();
  const result = read();
  expect(result?.ok === true && result.body.equals(bytes)).toBe(true);
  if (result?.ok === true) result.pool.release(result.bytes);
  expect(budget.taken).toBe(0);
});

test("the buffer grows no further than what was announced", () => {
  const { budget, body } = begin(3 * MB);
  body.add(Buffer.alloc(1));
  expect(budget.taken).toBe(1);
  body.add(Buffer.alloc(2 * MB));
  expect(budget.taken).toBe(3 * MB);
});

test("a body that outgrows the small ones is charged to the long ones", () => {
  const { budget, body } = begin();
  body.add(Buffer.alloc(30_000));
  expect(budget.of("only")).toMatchObject({ small: { taken: 30_000 }, large: { taken: 0 } });
  body.add(Buffer.alloc(10_000));
  expect(budget.of("only")).toMatchObject({ small: { taken: 0 }, large: { taken: 80_000 } });
  body.refuse("body_incomplete");
  expect(budget.taken).toBe(0);
});

test("a body cut into single bytes is refused early, and leaves nothing", () => {
  const { budget, body, code } = begin();
  for (let sent = 0; sent < 250; sent += 1) body.add(Buffer.alloc(1));
  expect(code()).toBeUndefined();
  for (let sent = 0; sent < 20; sent += 1) body.add(Buffer.alloc(1));
  expect(code()).toBe("too_many_chunks");
  expect(budget.taken).toBe(0);
});

test("a body in the chunks of a chatty sender is taken", () => {
  const { body, read } = begin();
  for (let sent = 0; sent < 20_000; sent += 1) body.add(Buffer.alloc(40));
  body.end();
  expect(read()).toMatchObject({ ok: true });
});

test("a body above the limit is refused with the piece that exceeds it", () => {
  const { budget, body, code } = begin(undefined, { bytesMax: 100 });
  body.add(Buffer.alloc(100));
  body.add(Buffer.alloc(1));
  expect([code(), budget.taken]).toEqual(["body_too_large", 0]);
});

test("a body that stalls is refused after its second five seconds", () => {
  const { budget, body, read } = begin(1 * MB);
  body.add(Buffer.alloc(999_999));
  vi.advanceTimersByTime(9_999);
  expect(read()).toBeUndefined();
  vi.advanceTimersByTime(1);
  expect(read()).toMatchObject({ ok: false, reason: "too_slow", rejection: { status: 408 } });
  expect([budget.taken, vi.getTimerCount()]).toEqual([0, 0]);
});

test("a body at the slowest pace is read for 30 seconds, and no longer", () => {
  const { body, read, code } = begin(1 * MB);
  for (let second = 0; second < 29; second += 1) {
    vi.advanceTimersByTime(1_000);
    body.add(Buffer.alloc(4_100));
  }
  expect(read()).toBeUndefined();
  vi.advanceTimersByTime(1_000);
  expect([code(), vi.getTimerCount()]).toEqual(["body_timeout", 0]);
});

test("a body that gives way is refused as overloaded, and what still comes of it is dropped", () => {
  const { budget, body, read } = begin();
  body.add(Buffer.alloc(1_000));
  body.evict();
  body.add(Buffer.alloc(1_000));
  body.end();
  expect(read()).toMatchObject({ ok: false, reason: "gave_way", rejection: { status: 503 } });
  expect(budget.taken).toBe(0);
});
