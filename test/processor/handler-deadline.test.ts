import { PermanentError, type HandlerFunction } from "@millrace/core";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { effect, prepare, useProcessors } from "./processor-fixture.ts";

const processors = useProcessors();

async function runTooLong(handler: HandlerFunction) {
  const prepared = prepare(processors, handler, { handlerTimeoutMs: 300 });
  const { process, processor, row, effects, notices } = prepared;
  const result = await process();
  expect(processor.running).toBe(0);
  expect(await row()).toMatchObject({ status: "pending", attempts: 1 });
  expect(await effects()).toBe(0);
  return { result, notices };
}

const TIMED_OUT = { kind: "retry", code: "handler_timeout", recorded: true };

test("a handler past its time has its signal aborted, is undone, and fails its attempt; its slot is free", async () => {
  let reason: unknown;
  const { result, notices } = await runTooLong(async (event, context) => {
    await effect(event, context);
    context.signal.addEventListener("abort", () => (reason = context.signal.reason));
    await new Promise(() => {});
  });
  expect(result).toMatchObject(TIMED_OUT);
  expect(reason).toMatchObject({ code: "handler_timeout" });
  await until(() => notices.some(({ kind }) => kind === "handler_ignored_abort"));
});

test("a handler that heeds its signal is timed out by that name, whatever it throws", async () => {
  const { result, notices } = await runTooLong(
    (_event, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new PermanentError("stopped")));
      }),
  );
  expect(result).toMatchObject(TIMED_OUT);
  expect(notices.some(({ kind }) => kind === "handler_ignored_abort")).toBe(false);
});

test("a handler that is past its time while its own query runs is timed out by that name", async () => {
  const { result } = await runTooLong(async (_event, { tx }) => {
    await tx.execute(sql`select pg_sleep(30)`);
  });
  expect(result).toMatchObject(TIMED_OUT);
});

test("a query that Postgres cancels at the end of the time is timed out, though the clock has not struck yet", async () => {
  const startedMs = performance.now();
  const { result } = await runTooLong(async (_event, { tx }) => {
    await tx.execute(sql`set local statement_timeout = 50`);
    try {
      await tx.execute(sql`select pg_sleep(30)`);
    } finally {
      // No timer has its turn while this goes on, so the answer of Postgres comes first.
      while (performance.now() - startedMs < 1_000);
    }
  });
  expect(result).toMatchObject(TIMED_OUT);
});

test("a query that Postgres cancels before the time is up is an error of the handler", async () => {
  const { process } = prepare(processors, async (_event, { tx }) => {
    await tx.execute(sql`set local statement_timeout = 50`);
    await tx.execute(sql`select pg_sleep(30)`);
  });
  expect(await process()).toMatchObject({ kind: "retry", code: "handler_failed", recorded: true });
});
