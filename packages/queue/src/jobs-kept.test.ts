import { expect, test } from "vitest";
import { completedToKeep } from "./jobs.ts";

const MIB = 1_048_576;

test("Small jobs fill a source's bytes, and a source may always keep 10,000", () => {
  const { keep } = completedToKeep("redis", { keepMs: 600_000, sourceBytes: 256 * MIB });
  expect(keep).toEqual({ age: 600, count: 178_956 });
  expect(completedToKeep("redis", { keepMs: 600_000, sourceBytes: MIB }).keep).toEqual({
    age: 600,
    count: 10_000,
  });
});

test("Larger jobs leave room for fewer, and the count falls by no more than Redis removes at once", () => {
  const completed = completedToKeep("redis", { keepMs: 600_000, sourceBytes: 256 * MIB });
  let last = completed.keep.count ?? 0;
  for (let job = 0; job < 20_000; job += 1) {
    completed.count(10_000);
    const count = completed.keep.count ?? 0;
    expect(last - count).toBeLessThanOrEqual(1_000);
    last = count;
  }
  // 1,500 bytes, and the body with its quotation marks escaped.
  expect(last).toBe(Math.floor((256 * MIB) / 13_500));
});

test("A job that is not kept is removed as it completes, and Postgres keeps by time alone", () => {
  expect(completedToKeep("redis", { keepMs: 0, sourceBytes: MIB }).keep).toEqual({ count: 0 });
  expect(completedToKeep("postgres", { keepMs: 600_000, sourceBytes: MIB }).keep).toEqual({
    age: 600,
  });
});
