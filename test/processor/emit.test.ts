import {
  on,
  RetryLater,
  type EmittedEvent,
  type EventJob,
  type HandlerFunction,
} from "@millrace/core";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import {
  emittedRows,
  fresh,
  makeJob,
  prepare,
  useProcessors,
  warmGroups,
} from "./processor-fixture.ts";

const processors = useProcessors();

const emittedBy = (eventId: string, generation = 0) => emittedRows(processors, eventId, generation);

const jobOf = (child: EmittedEvent | undefined): EventJob => {
  if (child === undefined) throw new Error("Nothing was emitted");
  return { ...makeJob(), event: { ...child, headers: {}, body: undefined } };
};

const transactionOf = async (eventId: string) => {
  const [row] = await processors.ask<{ transaction: string }>(
    "select xmin::text as transaction from millrace.events where event_id = $1",
    [eventId],
  );
  return row?.transaction;
};

type Way = (run: HandlerFunction) => Promise<{
  readonly emitted: readonly EmittedEvent[];
  readonly attempt: (job: EventJob) => Promise<unknown>;
}>;
const single =
  (groups: boolean): Way =>
  async (run) => {
    const processor = processors.create([on("shop", "*", run)], { groups });
    return { emitted: processor.emitted, attempt: (job) => processor.process(job) };
  };

const WAYS: Readonly<Record<string, Way>> = {
  "in a group": async (run) => {
    const { processor, together } = await warmGroups(processors, run);
    const others = () => Array.from({ length: 19 }, () => fresh());
    return {
      emitted: processor.emitted,
      attempt: (job) => together([job, ...others()]),
    };
  },
  alone: single(true),
  "after a record": single(false),
};

describe.each(Object.entries(WAYS))("an event that is attempted %s", (_, way) => {
  async function prepareEvent(run: HandlerFunction) {
    const job = fresh({ headers: { "x-run": "1" } });
    const { eventId } = job.event;
    const { attempt, emitted } = await way((event, context) =>
      event.headers["x-run"] === undefined ? undefined : run(event, context),
    );
    return {
      eventId,
      attempt: (over: Partial<EventJob> = {}) => attempt({ ...job, ...over }),
      told: () => emitted.filter(({ parent }) => parent?.eventId === eventId),
    };
  }

  test("emits in the transaction that completes it", async () => {
    const { attempt, told, eventId } = await prepareEvent(async (_event, { emit }) => {
      await emit("mail", "receipt", { to: "ada", amount: 42 });
      await emit("mail", "receipt", { to: "bob" });
      await emit("audit", "paid", null, { key: "the | one", afterMs: 60_000 });
    });
    await attempt();
    const rows = await emittedBy(eventId);
    expect(rows.map(({ event_id, body, due }) => [event_id, body?.toString(), due])).toEqual([
      [`shop|${eventId}|0|paid|the %7C one`, "null", false],
      [`shop|${eventId}|0|receipt|#1`, '{"to":"ada","amount":42}', true],
      [`shop|${eventId}|0|receipt|#2`, '{"to":"bob"}', true],
    ]);
    const completedIn = await transactionOf(eventId);
    for (const row of rows) {
      expect(row).toMatchObject({ status: "pending", transaction: completedIn });
      expect(row.headers).toEqual({
        ...{ "millrace-parent-source": "shop", "millrace-parent-id": eventId },
        ...{ "millrace-parent-generation": "0", "millrace-depth": "1" },
      });
    }
    expect(
      told()
        .map((event) => event.eventId)
        .toSorted(),
    ).toEqual(rows.map(({ event_id }) => event_id));
  });

  test("emits nothing when its handler throws, and once when a later attempt does not", async () => {
    let isRepaired = false;
    const { attempt, told, eventId } = await prepareEvent(async (_event, { emit }) => {
      await emit("mail", "receipt", { isRepaired });
      if (!isRepaired) throw new Error("out of stock");
    });
    await attempt();
    expect(await processors.row(eventId)).toMatchObject({ status: "pending" });
    expect([await emittedBy(eventId), told()]).toEqual([[], []]);
    isRepaired = true;
    await attempt({ run: "run-2", startedBefore: true });
    const rows = await emittedBy(eventId);
    expect(rows.map(({ event_id, body }) => [event_id, String(body)])).toEqual([
      [`shop|${eventId}|0|receipt|#1`, '{"isRepaired":true}'],
    ]);
  });

  test("takes back with a savepoint what was emitted behind it", async () => {
    const { attempt, told, eventId } = await prepareEvent(async (event, { tx, emit }) => {
      await emit("mail", "before", {});
      await tx
        .transaction(async (inner) => {
          await inner.execute(sql`insert into effects values (${event.id}, 'undone')`);
          await emit("mail", "undone", {});
          inner.rollback();
        })
        .catch(() => {});
      await tx.execute(sql`savepoint mine`);
      await emit("mail", "undone", { too: true });
      await tx.execute(sql`rollback to savepoint mine`);
      await emit("mail", "undone", { as: "well" });
      await tx.execute(sql`rollback to savepoint mine`);
      await tx.transaction(async () => await emit("mail", "kept", {}));
      await emit("mail", "undone", { not: "this" });
    });
    await attempt();
    expect(await processors.row(eventId)).toMatchObject({ status: "completed" });
    const rows = await emittedBy(eventId);
    expect(rows.map(({ type, body }) => [type, body.toString()])).toEqual([
      ["before", "{}"],
      ["kept", "{}"],
      ["undone", '{"not":"this"}'],
    ]);
    expect(told().map(({ type }) => type)).toEqual(["before", "kept", "undone"]);
  });
});

test("a replay emits anew, under ids of its own", async () => {
  const { process, processor, eventId } = prepare(
    processors,
    async (_, { emit }) => await emit("mail", "receipt", {}),
  );
  await process();
  const [replayed] = await processors.ledger.retries.replay([{ source: "shop", eventId }]);
  if (replayed?.kind !== "replayed") throw new Error("Cannot replay");
  await processor.process({ ...makeJob(), event: replayed.event });
  for (const generation of [0, 1]) {
    const rows = await emittedBy(eventId, generation);
    expect(rows.map((row) => row.event_id)).toEqual([`shop|${eventId}|${generation}|receipt|#1`]);
  }
});

test("no two events have one id, whatever their parts hold", async () => {
  const processor = processors.create([
    on("shop", "*", async (event, { emit }) => {
      for (const key of event.payload.keys) await emit("mail", event.payload.type, {}, { key });
      await emit("mail", event.payload.type, {});
    }),
  ]);
  const id = makeJob().event.eventId;
  const parents: [string, { type: string; keys: string[] }][] = [
    [id, { type: "0|mail", keys: ["#1", "%231", "a|b"] }],
    [`${id}|0`, { type: "mail", keys: ["#1", "%231", "a|b"] }],
    [`${id}%7C0`, { type: "mail", keys: [] }],
  ];
  for (const [eventId, payload] of parents) {
    const job = makeJob({ eventId, body: JSON.stringify(payload) });
    expect(await processor.process(job)).toMatchObject({ kind: "completed" });
  }
  const ids = processor.emitted.map(({ eventId }) => eventId);
  expect(new Set(ids).size).toBe(9);
  for (const [eventId, { keys }] of parents) {
    expect(await emittedBy(eventId)).toHaveLength(keys.length + 1);
  }
});

test("a chain of events that emit each other ends at the sixteenth", async () => {
  const processor = processors.create([
    on("mail", "*", async (_, { emit }) => await emit("mail", "again", {})),
    on("shop", "*", async (_, { emit }) => await emit("mail", "again", {})),
  ]);
  // What a sender says about its depth is not believed.
  let job: EventJob = makeJob({ headers: { "millrace-depth": "16" } });
  for (let depth = 1; depth <= 16; depth += 1) {
    expect(await processor.process(job)).toMatchObject({ kind: "completed" });
    const child = processor.emitted.at(-1);
    expect(child?.headers["millrace-depth"]).toBe(String(depth));
    job = jobOf(child);
  }
  expect(job.event.eventId.length).toBeLessThanOrEqual(1_024);
  expect(await processor.process(job)).toMatchObject({ kind: "failed", code: "emit_too_deep" });
  const row = await processors.row(job.event.eventId);
  expect(row).toMatchObject({ status: "failed", attempts: 1 });
});

test("a handler of every source hears no internal one", async () => {
  const heard: string[] = [];
  const processor = processors.create([
    on("*", "*", (event) => void heard.push(`* ${event.source}`)),
    on(["shop", "mail"], "*", (event) => void heard.push(`named ${event.source}`)),
    on("shop", "*", async (_, { emit }) => await emit("mail", "receipt", {})),
  ]);
  await processor.process(makeJob());
  await processor.process(jobOf(processor.emitted[0]));
  expect(heard).toEqual(["* shop", "named shop", "named mail"]);
});

test("an id that is known is left as it is, and one that Postgres has lost with its body runs", async () => {
  const processor = processors.create([
    on("shop", "*", async (_, { emit }) => await emit("mail", "receipt", { new: true })),
  ]);
  const [known, lost] = [makeJob(), makeJob()];
  const child = async (eventId: string, set: string) => {
    const id = `shop|${eventId}|0|receipt|#1`;
    await processors.ask(
      `insert into millrace.events (source, event_id, generation, type, body_hash, unsigned,
         received_at, body_id) values ('mail', $1, 0, 'receipt', 'hash', false, now(), 1)`,
      [id],
    );
    const text = `update millrace.events set processed_at = now(), ${set} where event_id = $1`;
    await processors.ask(text, [id]);
  };
  await child(known.event.eventId, "status = 'completed', outcome = 'handled'");
  await child(lost.event.eventId, "status = 'failed', last_error_code = 'body_lost'");
  expect(await processor.process(known)).toMatchObject({ kind: "completed" });
  expect(await processor.process(lost)).toMatchObject({ kind: "completed" });
  const childOf = async (eventId: string) => {
    const id = `shop|${eventId}|0|receipt|#1`;
    const found = await processors.ledger.reads.findEvent({ source: "mail", eventId: id });
    return { status: found?.event.status, body: Buffer.from(found?.body ?? []).toString() };
  };
  expect((await childOf(known.event.eventId)).status).toBe("completed");
  expect(await childOf(lost.event.eventId)).toEqual({ status: "pending", body: '{"new":true}' });
});

test("an event that was emitted with a long delay may ask to wait as long as any other", async () => {
  const processor = processors.create([
    on("shop", "*", async (_, { emit }) => await emit("mail", "later", {}, { afterMs: 1 })),
    on("mail", "*", () => {
      throw new RetryLater({ afterMs: 1_000 });
    }),
  ]);
  await processor.process(makeJob());
  const job = jobOf(processor.emitted[0]);
  const long = "interval '30 days'";
  await processors.ask(
    `update millrace.events set pending_since = pending_since - ${long} where event_id = $1`,
    [job.event.eventId],
  );
  expect(await processor.process(job)).toMatchObject({ kind: "retry", code: "retry_later" });
});
