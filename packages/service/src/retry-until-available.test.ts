import { MillraceError } from "@millrace/core";
import { expect, test } from "vitest";
import { retryUntilAvailable } from "./retry-until-available.ts";

const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

function failing(times: number, error: Error) {
  let calls = 0;
  return () =>
    Promise.resolve().then(() => {
      if ((calls += 1) <= times) throw error;
      return calls;
    });
}

test("a step waits for a server that is away", async () => {
  const heard: unknown[] = [];
  const options = {
    signal: new AbortController().signal,
    onAway: (error: unknown) => heard.push(error),
  };
  expect(await retryUntilAvailable(failing(1, refused), options)).toBe(2);
  const unreachable = new MillraceError("redis_unreachable", "Cannot reach Redis: refused");
  expect(await retryUntilAvailable(failing(1, unreachable), options)).toBe(2);
  expect(heard).toEqual([refused, unreachable]);
});

test("what a wait does not fix is thrown at once", async () => {
  const options = { signal: new AbortController().signal, onAway: () => {} };
  for (const code of ["migration_needed", "redis_evicts", "too_many_connections"] as const) {
    await expect(
      retryUntilAvailable(failing(1, new MillraceError(code, "x")), options),
    ).rejects.toThrow("x");
  }
  await expect(retryUntilAvailable(failing(1, new TypeError("bug")), options)).rejects.toThrow(
    "bug",
  );
});

test("a worker that is told to stop while it waits stops", async () => {
  const abort = new AbortController();
  const options = { signal: abort.signal, onAway: () => abort.abort(new Error("told to stop")) };
  await expect(retryUntilAvailable(failing(9, refused), options)).rejects.toThrow("told to stop");
});
