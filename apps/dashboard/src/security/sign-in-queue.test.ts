import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { originOf } from "./client-network.ts";
import { SignInQueue } from "./sign-in-queue.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A queue, and what became of the guesses that were put into it. */
function guesses() {
  const queue = new SignInQueue();
  const checked: string[] = [];
  const refused: string[] = [];
  const guess = async (network: string, right = false) => {
    const isKnown = network.startsWith("known");
    const turn = await queue.run({ network, origin: originOf(network), isKnown }, () => {
      checked.push(network);
      return right ? network : undefined;
    });
    if (turn.kind === "refused") refused.push(network);
    return turn;
  };
  const wrong = async (network: string, times: number) => {
    for (let count = 0; count < times; count += 1) {
      void guess(network);
      await vi.advanceTimersByTimeAsync(2_000);
    }
  };
  return { queue, checked, refused, guess, wrong };
}

test("ten failures cost nobody time", async () => {
  const { checked, guess } = guesses();
  for (let count = 0; count < 10; count += 1) void guess("a");
  expect(await guess("b", true)).toEqual({ kind: "checked", found: "b" });
  expect(checked).toHaveLength(11);
});

test("200 networks that guess at once guess no faster than one", async () => {
  const { queue, checked, refused, guess } = guesses();
  for (let second = 0; second < 7; second += 1) {
    for (let count = 0; count < 286; count += 1) void guess(`network ${count % 200}`);
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(checked.length).toBeGreaterThan(10);
  expect(checked.length).toBeLessThan(70);
  queue.close();
  await vi.advanceTimersByTimeAsync(0);
  expect(checked.length + refused.length).toBe(7 * 286);
});

test("guesses of ten minutes slow each other down to about 35 a minute", async () => {
  const { checked, guess } = guesses();
  for (let second = 0; second < 1_200; second += 1) {
    for (let count = 0; count < 3; count += 1) void guess(`network ${second % 50}`);
    await vi.advanceTimersByTimeAsync(1_000);
    if (second === 599) checked.length = 0;
  }
  expect(checked.length / 10).toBeGreaterThan(25);
  expect(checked.length / 10).toBeLessThan(45);
});

test("a person elsewhere waits for one check of each network that has not failed yet", async () => {
  const { checked, guess, wrong } = guesses();
  await wrong("guesser", 600);
  checked.length = 0;
  for (let count = 0; count < 10; count += 1) void guess("guesser");
  for (let count = 0; count < 90; count += 1) void guess(`other ${count % 9}`);
  const person = guess("person", true);
  await vi.advanceTimersByTimeAsync(0);
  // One may have been checked when it came.
  const before = checked.length;
  await vi.advanceTimersByTimeAsync(2_000 * 11);
  expect(await person).toEqual({ kind: "checked", found: "person" });
  expect(checked.indexOf("person")).toBeLessThanOrEqual(before + 10);
});

test("of two that wait, the network with fewer failures is checked first", async () => {
  const { checked, guess, wrong } = guesses();
  await wrong("guesser", 40);
  checked.length = 0;
  for (let count = 0; count < 5; count += 1) void guess("guesser");
  const person = guess("person", true);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await person).toEqual({ kind: "checked", found: "person" });
  expect(checked.slice(0, 2)).toEqual(["guesser", "person"]);
});

test("wrong passwords of an address lock nobody out who has the same", async () => {
  const { guess, wrong } = guesses();
  await wrong("proxy", 300);
  for (let count = 0; count < 9; count += 1) void guess("proxy");
  const person = guess("proxy", true);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await person).toEqual({ kind: "checked", found: "proxy" });
});

test("ten of a network wait, a hundred in all, and one with more failures makes way", async () => {
  const { refused, guess, wrong } = guesses();
  await wrong("guesser", 60);
  for (let count = 0; count < 12; count += 1) void guess("guesser");
  await vi.advanceTimersByTimeAsync(0);
  // The first was checked when it came.
  expect(refused).toEqual(["guesser"]);
  for (let count = 0; count < 90; count += 1) void guess(`other ${count}`);
  await vi.advanceTimersByTimeAsync(0);
  expect(refused).toHaveLength(1);
  void guess("one more");
  await vi.advanceTimersByTimeAsync(0);
  expect(refused).toEqual(["guesser", "guesser"]);
});

test("a person gets in next to a flood from all networks of a /48", async () => {
  const { checked, guess, wrong } = guesses();
  await wrong("guesser", 410);
  checked.length = 0;
  let network = 0;
  const flood = (times: number) => {
    for (let count = 0; count < times; count += 1) {
      network += 1;
      void guess(`2001:db8:1:${network.toString(16)}::/64`);
    }
  };
  flood(1_000);
  await vi.advanceTimersByTimeAsync(0);
  const person = guess("2001:db8:2:1::/64", true);
  flood(1_000);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await person).toEqual({ kind: "checked", found: "2001:db8:2:1::/64" });
});

test("a known browser gets in next to a flood of addresses that were never seen, also if it mistypes", async () => {
  const { checked, guess, wrong } = guesses();
  await wrong("guesser", 410);
  checked.length = 0;
  for (let count = 0; count < 1_000; count += 1) void guess(`address ${count}`);
  await wrong("known", 3);
  const person = guess("known", true);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await person).toEqual({ kind: "checked", found: "known" });
  // Whoever has such a browser and guesses with it has no more turns than others.
  checked.length = 0;
  await wrong("known", 30);
  const others = checked.filter((each) => each !== "known");
  expect(others.length).toBeGreaterThan(10);
});

test("failures are forgotten after ten minutes", async () => {
  const { checked, guess, wrong } = guesses();
  await wrong("a", 100);
  await vi.advanceTimersByTimeAsync(600_000);
  checked.length = 0;
  for (let count = 0; count < 10; count += 1) void guess("a");
  await vi.advanceTimersByTimeAsync(0);
  expect(checked).toHaveLength(10);
});

test("what waits when it is closed is refused, and what comes later too", async () => {
  const { queue, guess, wrong } = guesses();
  await wrong("a", 30);
  void guess("a");
  const waits = guess("a", true);
  queue.close();
  expect((await waits).kind).toBe("refused");
  expect((await guess("b", true)).kind).toBe("refused");
});
