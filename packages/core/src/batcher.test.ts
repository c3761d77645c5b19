import { expect, test } from "vitest";
import { createBatcher } from "./batcher.ts";

test("what arrives while a call is in flight goes together with the next one", async () => {
  const calls: (readonly number[])[] = [];
  let open = () => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const { add } = createBatcher<number, number>(
    async (items) => {
      calls.push(items);
      if (calls.length === 1) await gate;
      return items.map((item) => item * 10);
    },
    { sizeMax: 3 },
  );

  const first = add(1);
  await new Promise((resolve) => setImmediate(resolve));
  const rest = [2, 3, 4, 5].map((item) => add(item));
  open();

  expect(await Promise.all([first, ...rest])).toEqual([10, 20, 30, 40, 50]);
  expect(calls).toEqual([[1], [2, 3, 4], [5]]);
});

test("a call that throws rejects its own items, and the next call goes on", async () => {
  const { add } = createBatcher<string, string>(
    async (items) => {
      if (items.includes("bad")) throw new Error("refused");
      return items;
    },
    { sizeMax: 1 },
  );
  const settled = await Promise.allSettled([add("bad"), add("good")]);
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
});

test("an item that got no result is rejected instead of left waiting", async () => {
  const { add } = createBatcher<number, number>(async (items) => items.slice(1), { sizeMax: 9 });
  const settled = await Promise.allSettled([add(1), add(2)]);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
});

test("several calls may be in flight at once, up to the number given", async () => {
  let running = 0;
  let most = 0;
  const { add } = createBatcher<number, number>(
    async (items) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return items;
    },
    { sizeMax: 1, inFlightMax: 2 },
  );
  await Promise.all([1, 2, 3, 4, 5, 6].map((item) => add(item)));
  expect(most).toBe(2);
});

test("a call that is sparing waits for the one in flight until it is full", async () => {
  const calls: (readonly number[])[] = [];
  let open = () => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const { add } = createBatcher<number, number>(
    async (items) => {
      calls.push(items);
      await gate;
      return items;
    },
    { sizeMax: 2, inFlightMax: 2, sparing: true },
  );
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  const added = [add(1)];
  await turn();
  added.push(add(2));
  await turn();
  expect(calls).toEqual([[1]]);
  added.push(add(3));
  await turn();
  expect(calls).toEqual([[1], [2, 3]]);
  open();
  await Promise.all(added);
});
