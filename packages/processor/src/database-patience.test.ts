import { expect, test } from "vitest";
import { createDatabasePatience } from "./database-patience.ts";

class Away extends Error {}

function patience(patienceMs = 2_000) {
  const deps = { isDatabaseTrouble: (error: unknown) => error instanceof Away, random: () => 1 };
  return createDatabasePatience(deps, { patienceMs });
}

function failing(times: number, error: Error) {
  const step = async () => {
    await Promise.resolve();
    step.calls += 1;
    if (step.calls <= times) throw error;
    return "done";
  };
  step.calls = 0;
  return step;
}

const never = new AbortController().signal;

test("a step is tried again until Postgres is back", async () => {
  const step = failing(3, new Away("away"));
  expect(await patience().persist(step, never)).toBe("done");
  expect(step.calls).toBe(4);
});

test("an error that is not Postgres being away is thrown at once", async () => {
  const step = failing(1, new Error("22021"));
  await expect(patience().persist(step, never)).rejects.toThrow("22021");
  expect(step.calls).toBe(1);
});

test("patience ends", async () => {
  const step = failing(1_000, new Away("away"));
  await expect(patience(250).persist(step, never)).rejects.toThrow("away");
  expect(step.calls).toBe(2);
});

test("a worker that closes does not wait for Postgres", async () => {
  const abort = new AbortController();
  const step = failing(1_000, new Away("away"));
  const persisted = patience(60_000).persist(step, abort.signal);
  setImmediate(() => abort.abort());
  await expect(persisted).rejects.toThrow("away");
  expect(step.calls).toBe(1);
});

test("an event that it happens to again and again stays away longer, up to half a minute", () => {
  const delays = [0, 1, 2, 3, 4, 5, 900].map((uncounted) => patience().delayMs(uncounted));
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});
