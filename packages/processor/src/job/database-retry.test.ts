import { MillraceError } from "@millrace/core";
import { expect, test } from "vitest";
import { createDatabaseRetry } from "./database-retry.ts";

class Away extends MillraceError {
  constructor(message: string) {
    super("database_unavailable", message);
  }
}

function database(maxMs = 2_000) {
  return createDatabaseRetry({ maxMs, random: () => 1 });
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
  expect(await database().retry(step, never)).toBe("done");
  expect(step.calls).toBe(4);
});

test("an error that is not Postgres being away is thrown at once", async () => {
  const step = failing(1, new Error("22021"));
  await expect(database().retry(step, never)).rejects.toThrow("22021");
  expect(step.calls).toBe(1);
});

test("patience ends", async () => {
  const step = failing(1_000, new Away("away"));
  await expect(database(250).retry(step, never)).rejects.toThrow("away");
  expect(step.calls).toBe(2);
});

test("a worker that closes does not wait for Postgres", async () => {
  const abort = new AbortController();
  const step = failing(1_000, new Away("away"));
  const retried = database(60_000).retry(step, abort.signal);
  setImmediate(() => abort.abort());
  await expect(retried).rejects.toThrow("away");
  expect(step.calls).toBe(1);
});

test("an event that it happens to again and again stays away longer, up to half a minute", () => {
  const delays = [0, 1, 2, 3, 4, 5, 900].map((uncounted) => database().delayMs(uncounted));
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});
