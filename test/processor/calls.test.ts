import { on, type HandlerParts, type WebhookEvent } from "@millrace/core";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import {
  createGate,
  effect,
  leave,
  makeJob,
  type Options,
  prepare,
  useProcessors,
} from "./processor-fixture.ts";

const processors = useProcessors();

const start = (parts: HandlerParts, options?: Options, over?: Parameters<typeof makeJob>[0]) =>
  prepare(processors, parts, options, over);

test("a call runs when its attempt is counted and before its row is locked, with no transaction open", async () => {
  const seen: unknown[] = [];
  const pid =
    "select pid from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()";
  const { process, row, notes } = start(
    {
      call: async ({ id }) => {
        seen.push((await processors.row(id))?.attempts, await processors.ask(pid));
        const lock = "select from millrace.events where event_id = $1 for update nowait";
        expect(await processors.ask(lock, [id])).toHaveLength(1);
        return { refund: "re_1" };
      },
      write: (event, context, called) =>
        leave((called as { refund: string }).refund)(event, context),
    },
    { groups: true },
  );
  expect(await process()).toEqual({ kind: "completed", outcome: "handled" });
  expect(seen).toEqual([1, []]);
  expect(await notes()).toEqual(["re_1"]);
  expect(await row()).toMatchObject({ status: "completed", attempts: 1 });
});

test("what a call returns is written by the attempt that made it, and a call that throws writes nothing", async () => {
  const { process, processor, row, notes, eventId } = start({
    call: ({ attempt }) => {
      if (attempt === 1) throw new Error("the other system is away");
      return attempt;
    },
    write: (event, context, called) => leave(String(called))(event, context),
  });
  const failed = { kind: "retry", code: "handler_failed", recorded: true };
  expect(await process()).toMatchObject(failed);
  const last_error = "Error: the other system is away";
  expect(await row()).toMatchObject({ status: "pending", last_error });
  const bare = makeJob({ eventId, body: undefined });
  expect(await processor.process(bare)).toMatchObject({ kind: "completed" });
  expect(await notes()).toEqual(["2"]);
});

test("of several handlers all calls are made, one after the other, and then all writes in one transaction", async () => {
  const order: string[] = [];
  const one = (name: string): HandlerParts => ({
    call: async () => {
      order.push(`${name} calls`);
      await Promise.resolve();
      order.push(`${name} has called`);
      return name;
    },
    write: async (event, context, called) => {
      order.push(`${String(called)} writes`);
      await effect(event, context);
      if (name === "c" && event.attempt === 1) throw new Error("undoes all of them");
    },
  });
  const { process, effects } = prepare(processors, [
    on("shop", "*", one("a")),
    on("shop", "*", effect),
    on("shop", "*", one("c")),
  ]);
  expect(await process()).toMatchObject({ kind: "retry" });
  const all = ["a calls", "a has called", "c calls", "c has called", "a writes", "c writes"];
  expect(order).toEqual(all);
  expect(await effects()).toBe(0);
  expect(await process()).toMatchObject({ kind: "completed" });
  expect(await effects()).toBe(3);
});

test("a handler with a call alone takes no transaction", async () => {
  let transactions = 0;
  const seen: WebhookEvent[] = [];
  const before = { attempt: () => (transactions += 1) };
  const { process, row, eventId } = start({ call: (event) => void seen.push(event) }, { before });
  expect(await process()).toEqual({ kind: "completed", outcome: "handled" });
  expect(await row()).toMatchObject({ status: "completed", outcome: "handled", attempts: 1 });
  expect(transactions).toBe(0);
  expect(seen).toMatchObject([{ id: eventId, payload: { n: 1 }, attempt: 1 }]);
  expect(await process()).toEqual({ kind: "duplicate" });
});

test("a handler with a call alone does not complete what another worker has claimed meanwhile", async () => {
  const { open, pass, untilWaiting } = createGate();
  const { process, row, eventId } = start({ call: pass });
  const running = process();
  await untilWaiting();
  await processors.ask("update millrace.events set attempts = 2 where event_id = $1", [eventId]);
  open();
  expect(await running).toMatchObject({ kind: "lost" });
  expect(await row()).toMatchObject({ status: "pending" });
});

test("calls take no slots: as many run as callsMax allows, and other events go on beside them", async () => {
  const { open, pass, seen, untilWaiting } = createGate();
  const processor = processors.create(
    [on("shop", "call", { call: pass, write: effect }), on("shop", "plain", effect)],
    { concurrency: 1, callsMax: 5 },
  );
  const jobs = Array.from({ length: 7 }, () => makeJob({ type: "call" }));
  const results = jobs.map((job) => processor.process(job));
  await untilWaiting(5);
  expect(await processor.process(makeJob({ type: "plain" }))).toMatchObject({ kind: "completed" });
  const rows = await Promise.all(jobs.map(({ event }) => processors.row(event.eventId)));
  expect(rows.map((row) => row?.attempts)).toEqual([1, 1, 1, 1, 1, undefined, undefined]);
  expect([processor.running, processor.calling("shop"), processor.calling("bank")]).toEqual([
    5, 5, 0,
  ]);
  open();
  for (const result of results) expect(await result).toMatchObject({ kind: "completed" });
  expect(seen.most).toBe(5);
  expect([processor.running, processor.calling("shop")]).toEqual([0, 0]);
});

test("jobs that wait for their calls are handed back by a worker that stops, and calls that run go on", async () => {
  const { open, pass, untilWaiting } = createGate();
  const { process, processor } = start({ call: pass, write: effect }, { callsMax: 1 });
  const running = process();
  await untilWaiting();
  const second = makeJob();
  const waiting = processor.process(second);
  processor.drain();
  expect(await waiting).toMatchObject({ kind: "retry", code: "shutting_down", recorded: false });
  expect(await processors.row(second.event.eventId)).toBeUndefined();
  open();
  expect(await running).toMatchObject({ kind: "completed" });
});

test("a call past its own time has its signal aborted, fails its attempt, and gives its place back", async () => {
  let reason: unknown;
  const call: HandlerParts["call"] = async (_event, { signal }) => {
    signal.addEventListener("abort", () => (reason = signal.reason));
    await new Promise(() => {});
  };
  const { process, processor, row } = start({ timeoutMs: 100, call }, { callsMax: 1 });
  const timedOut = { kind: "retry", code: "handler_timeout", recorded: true };
  expect(await process()).toMatchObject(timedOut);
  expect(reason).toMatchObject({ code: "handler_timeout" });
  expect(await row()).toMatchObject({
    attempts: 1,
    last_error:
      "MillraceError: Cannot finish handler of shop order.created: it ran longer than 100 ms",
  });
  expect(processor.running).toBe(0);
  await until(() => processor.notices.some(({ kind }) => kind === "handler_ignored_abort"));
});

test("a call may take longer than handlers may, if it says so", async () => {
  const call: HandlerParts["call"] = (_event, { signal }) =>
    new Promise<void>((resolve, reject) => {
      setTimeout(resolve, 400);
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  const { process } = start({ timeoutMs: 10_000, call }, { handlerTimeoutMs: 100 });
  expect(await process()).toMatchObject({ kind: "completed" });
});

test("a call whose job is another worker's is broken off", async () => {
  const lost = new AbortController();
  let isAborted = false;
  const call: HandlerParts["call"] = async (_event, { signal }) => {
    signal.addEventListener("abort", () => (isAborted = true));
    lost.abort(new Error("the lock is lost"));
    await new Promise(() => {});
  };
  const { process, row, effects } = start({ call, write: effect }, {}, { signal: lost.signal });
  expect(await process()).toMatchObject({ kind: "lost" });
  expect(isAborted).toBe(true);
  expect(await effects()).toBe(0);
  expect(await row()).toMatchObject({ status: "pending" });
});

test("a call that a closing worker breaks off uses up no attempt", async () => {
  const { pass, untilWaiting } = createGate();
  const { process, processor, eventId } = start({ call: pass }, { attempts: 1 });
  const running = process();
  await untilWaiting();
  await processor.close();
  expect(await running).toMatchObject({ kind: "retry", code: "shutting_down", recorded: true });
  expect(await processors.charged(eventId)).toBe(0);
});

test("the type that the ledger has decides: the job of another delivery may name one without calls", async () => {
  const order: string[] = [];
  const processor = processors.create([
    on("shop", "called", {
      call: () => void order.push("call"),
      write: () => void order.push("write"),
    }),
    on("shop", "other", () => void order.push("other")),
  ]);
  const job = makeJob({ type: "called", unsigned: true });
  await processors.accept(job);
  const other = { ...job, event: { ...job.event, type: "other" } };
  expect(await processor.process(other)).toMatchObject({ kind: "completed" });
  expect(order).toEqual(["call", "write"]);
});
