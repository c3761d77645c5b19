import { expect, test } from "vitest";
import type { AttemptEnd } from "@millrace/ledger";
import { GroupSize } from "./group-size.ts";

const held = (over: Partial<AttemptEnd["held"]> = {}) => ({
  ...{ ms: 0, behindQueryMs: 0, sentOneQuery: true, isUndone: false, events: 1 },
  ...over,
});
const CALM: AttemptEnd = { kind: "completed", outcome: "handled", ranMs: 1, held: held() };
const failed = { kind: "failed", error: new Error("no") } as const;
const undone = (reason: "undone" | "slow" | "contended") =>
  ({ kind: "record_first", reason }) as const;
const safe = { isFailed: false, isUnsafe: false };
const group = (count: number, over: object = {}): AttemptEnd[] =>
  Array.from({ length: count }, () => ({ ...CALM, ...over }));

/** A type that has had calm runs until its groups are as large as they get. */
function grown(max = 50): GroupSize {
  const size = new GroupSize(max);
  for (let run = 0; run < 20; run += 1) size.noteSingle(1, safe);
  for (let round = 0; round < 20; round += 1) size.noteGroup(group(size.current), 1, size.isSerial);
  expect(size.current).toBe(max);
  return size;
}

/** Calm runs until the size changes. */
function runsUntilGrowth(size: GroupSize): number {
  const before = size.current;
  let runs = 0;
  while (size.current === before) {
    size.noteSingle(1, safe);
    runs += 1;
  }
  return runs;
}

test("an event of a new type goes alone, and calm runs double the size up to the largest", () => {
  const size = new GroupSize(50);
  expect(size.current).toBe(1);
  const seen: number[] = [];
  for (let run = 0; run < 100; run += 1) {
    size.noteSingle(1, safe);
    if (seen.at(-1) !== size.current) seen.push(size.current);
  }
  expect(seen).toEqual([2, 4, 8, 16, 32, 50]);
});

test("a type of which no event was undone for 1,000 runs goes without savepoints until one is", () => {
  const size = grown();
  for (let runs = 0; runs < 1_000; runs += 50) size.noteGroup(group(50), 1, false);
  expect(size.needsSavepoint).toBe(false);
  size.noteGroup(group(50, failed), 1, false);
  expect(size.needsSavepoint).toBe(false);

  size.noteUndone(group(50, undone("undone")));
  expect(size.needsSavepoint).toBe(false);
  size.noteUndone(group(50, { ...undone("undone"), held: held({ isUndone: true }) }));
  expect([size.needsSavepoint, size.current]).toEqual([true, 50]);
  for (let runs = 0; runs < 1_000; runs += 50) size.noteGroup(group(50), 1, false);
  expect(size.needsSavepoint).toBe(false);
  size.noteGroup(group(50).with(7, { ...CALM, held: held({ isUndone: true }) }), 1, false);
  expect(size.needsSavepoint).toBe(true);
});

test("a type for which no groups are allowed stays alone", () => {
  const size = new GroupSize(1);
  for (let run = 0; run < 100; run += 1) size.noteSingle(1, safe);
  expect(size.current).toBe(1);
});

test.each([
  ["a third of them undone", [...group(10, undone("undone")), ...group(20)]],
  ["handlers that hold up the others", group(30, { ranMs: 50, held: held({ ms: 50 }) })],
] as [string, AttemptEnd[]][])("the size is halved after %s", (_, reports) => {
  const size = grown(32);
  size.noteGroup(reports, 1, size.isSerial);
  expect(size.current).toBe(16);
});

test("a type of which many events fail goes alone until fewer do", () => {
  const size = grown(32);
  const groupsOf = (failing: number, rounds: number) => {
    for (let round = 0; round < rounds; round += 1) {
      size.noteGroup([...group(failing, failed), ...group(20 - failing)], 1, size.isSerial);
    }
    return size.current;
  };
  expect(groupsOf(8, 100)).toBe(32);
  expect(groupsOf(16, 20)).toBe(1);
  for (let run = 0; run < 100; run += 1) {
    size.noteSingle(1, { ...safe, isFailed: run % 3 > 0 });
    expect(size.current).toBe(1);
  }
  for (let run = 0; run < 200; run += 1) size.noteSingle(1, safe);
  expect(size.current).toBe(32);
});

test("the longer events wait for each other, the more transactions run at once", () => {
  const size = grown();
  expect(size.transactions).toBe(0);
  for (let round = 0; round < 50; round += 1)
    size.noteGroup(group(30, { held: held({ behindQueryMs: 2.3 }) }), 1, false);
  expect(size.transactions).toBe(8);
  expect(size.current).toBe(50);
});

test("one failure, one slow event, or one slow group changes nothing", () => {
  const size = grown(32);
  size.noteGroup(group(30, { held: held({ ms: 20 }) }), 1, size.isSerial);
  size.noteGroup(group(30).with(0, { ...CALM, ...failed }), 1, size.isSerial);
  size.noteGroup(group(30).with(0, { ...CALM, ranMs: 20, ...undone("slow") }), 1, size.isSerial);
  expect(size.current).toBe(32);
});

test("after each trouble it takes twice as many calm runs to grow again, within bounds", () => {
  const size = grown(32);
  const contended = group(32, undone("contended"));
  for (let times = 0; times < 6; times += 1) size.noteGroup(contended, 1, size.isSerial);
  expect(size.current).toBe(1);
  const first = runsUntilGrowth(size);
  size.noteGroup(contended, 1, size.isSerial);
  expect(runsUntilGrowth(size)).toBeGreaterThanOrEqual(first);
  for (let times = 0; times < 50; times += 1) size.noteGroup(contended, 1, size.isSerial);
  expect(runsUntilGrowth(size)).toBe(2_048);
});

test("a type whose statements reach past a savepoint stays alone for good", () => {
  const size = grown();
  size.noteSingle(1, { ...safe, isUnsafe: true });
  for (let run = 0; run < 20_000; run += 1) size.noteSingle(1, safe);
  expect(size.current).toBe(1);
});

test("handlers of which even the fastest is slow are not tried in groups", () => {
  const size = new GroupSize(50);
  for (let run = 0; run < 100; run += 1) size.noteSingle(60, safe);
  expect(size.current).toBeLessThanOrEqual(2);
});

test("a group waits ten times as long as a type takes, within bounds", () => {
  expect(new GroupSize(50).patienceMs).toBe(50);
  const size = grown();
  for (let round = 0; round < 50; round += 1)
    size.noteGroup(group(30, { ranMs: 8 }), 1, size.isSerial);
  expect(size.patienceMs).toBeCloseTo(80, 0);
  for (let round = 0; round < 50; round += 1)
    size.noteGroup(group(30, { ranMs: 100 }), 1, size.isSerial);
  expect(size.patienceMs).toBe(250);
});

test("handlers that take long because everything does are not slow, and are waited for longer", () => {
  const size = grown(32);
  for (let round = 0; round < 40; round += 1)
    size.noteGroup(group(30, { ranMs: 9, held: held({ ms: 9 }) }), 60, size.isSerial);
  expect(size.current).toBe(32);
  expect(size.patienceMs).toBeCloseTo(120, 0);
});

test("the next handlers begin early again when many runs in a row have sent one query", () => {
  const size = grown(32);
  expect(size.sendsOneQuery).toBe(true);
  size.noteGroup(
    group(30).with(4, { ...CALM, held: held({ sentOneQuery: false }) }),
    1,
    size.isSerial,
  );
  expect(size.sendsOneQuery).toBe(false);
  size.noteGroup(group(30), 1, size.isSerial);
  size.noteGroup(group(30), 1, size.isSerial);
  expect(size.sendsOneQuery).toBe(false);
  size.noteGroup(group(30), 1, size.isSerial);
  expect(size.sendsOneQuery).toBe(true);
});

test("groups that wait for locks run one after the other, and are halved if that is not enough", () => {
  const size = grown(32);
  const contended = group(30).with(3, { ...CALM, ...undone("contended") });
  size.noteGroup(contended, 1, size.isSerial);
  expect([size.isSerial, size.current]).toEqual([true, 32]);
  size.noteGroup(contended, 1, size.isSerial);
  expect([size.isSerial, size.current]).toEqual([true, 16]);
});

test("queries that take long get a turn of their own, and the size is halved if that does not help", () => {
  const size = grown(32);
  const slow = group(30, { held: held({ ms: 40, behindQueryMs: 40 }) });
  size.noteGroup(slow, 1, false);
  expect([size.isSerial, size.current]).toEqual([true, 32]);
  size.noteGroup(slow, 1, true);
  size.noteGroup(slow, 1, false);
  expect([size.isSerial, size.current]).toEqual([false, 8]);
});

test("groups that ran at the same time and waited for each other count as one trouble", () => {
  const size = grown(32);
  const contended = group(30).with(3, { ...CALM, ...undone("contended") });
  for (let ran = 0; ran < 8; ran += 1) size.noteGroup(contended, 1, false);
  expect([size.isSerial, size.current]).toEqual([true, 32]);
  for (let round = 0; size.isSerial; round += 1) {
    if (round > 70) throw new Error("still serial");
    size.noteGroup(group(30), 1, size.isSerial);
  }
});

test("after many calm runs groups run at the same time again, and after twice as many the next time", () => {
  const size = grown(32);
  const calmRuns = () => {
    size.noteGroup(group(30, undone("contended")), 1, size.isSerial);
    let runs = 0;
    while (size.isSerial) {
      size.noteGroup(group(10), 1, size.isSerial);
      runs += 10;
    }
    return runs;
  };
  expect([calmRuns(), calmRuns()]).toEqual([2_000, 4_000]);
});
