import { ensurePartitions } from "@millrace/ledger";
import { describe, expect, test } from "vitest";
import { aJob, anEvent } from "../support/events.ts";
import { useLedger } from "../support/ledger-fixture.ts";
import { attemptWith } from "./attempt-fixture.ts";

const it = useLedger();

const partitions = async () =>
  (
    await it.ask<{ name: string }>(
      "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'millrace.bodies'::regclass",
    )
  ).map((row) => row.name);

async function dropPartitions(): Promise<void> {
  for (const name of await partitions()) await it.ask(`DROP TABLE ${name}`);
}

const BODIES: Record<string, [Buffer, unknown]> = {
  "plain JSON": [Buffer.from('{"a": 1.0, "b": [null]}'), { a: 1, b: [null] }],
  "spaces and key order": [Buffer.from('{ "b" : 1,\r\n"a": 2 }\n'), { a: 2, b: 1 }],
  "a repeated key": [Buffer.from('{"a":1,"a":2}'), { a: 2 }],
  "a NUL escape": [Buffer.from('{"a":"x\\u0000y"}'), null],
  "a lone surrogate escape": [Buffer.from('{"a":"\\ud800"}'), null],
  "a number past numeric": [Buffer.from('{"a":1e400000}'), null],
  "deep nesting": [Buffer.from("[".repeat(200_000) + "]".repeat(200_000)), null],
  "text that is no JSON": [Buffer.from("hello"), null],
  "a form": [Buffer.from("payload=%7B%7D"), null],
  "bytes that are no UTF-8": [Buffer.from([0x7b, 0xff, 0x00, 0x7d]), null],
  "JSON null": [Buffer.from("null"), null],
  "a byte order mark": [Buffer.from('\ufeff{"a":1}'), null],
  "a large body": [
    Buffer.from(JSON.stringify({ a: "x".repeat(3_000_000) })),
    { a: "x".repeat(3_000_000) },
  ],
};

describe("A body", () => {
  for (const [name, [body, payload]] of Object.entries(BODIES)) {
    test(`with ${name} is kept byte for byte, and the view shows what jsonb can of it`, async () => {
      const accepted = anEvent({ body });
      const recorded = anEvent({ body });
      expect(await it.ledger.intake.accept([anEvent(), accepted, anEvent()])).not.toContain(
        "duplicate",
      );
      await it.ledger.claims.record([anEvent(), recorded, anEvent()].map((event) => aJob(event)));
      for (const event of [accepted, recorded]) {
        const whole = { offset: 0, length: 2 ** 30 };
        const found = await it.ledger.reads.readBody(event, whole);
        expect(Buffer.compare(Buffer.from(found?.part ?? []), body)).toBe(0);
        const [row] = await it.ask("SELECT payload FROM webhook_events WHERE event_id = $1", [
          event.eventId,
        ]);
        expect(row).toEqual({ payload });
      }
    });
  }

  test("is given to the handler from whatever day it lies in", async () => {
    const event = anEvent();
    const number = await it.claim(event);
    await it.ask(
      `SELECT millrace.ensure_partitions(14);
       WITH moved AS (UPDATE millrace.events SET body_day = body_day + 3
         WHERE event_id = '${event.eventId}' RETURNING body_id, body_day)
       UPDATE millrace.bodies b SET day = moved.body_day FROM moved WHERE b.id = moved.body_id`,
    );
    let seen: unknown;
    const end = await attemptWith(it.ledger, [event, number], (_tx, { body, headers }) => {
      seen = { body: Buffer.from(body).toString(), headers };
    });
    expect(end).toBe("completed");
    expect(seen).toEqual({ body: Buffer.from(event.body).toString(), headers: event.headers });
  });

  test("that is gone fails the attempt by name", async () => {
    const event = anEvent();
    const number = await it.claim(event);
    await it.ask(
      "DELETE FROM millrace.bodies USING millrace.events e WHERE id = e.body_id AND e.event_id = $1",
      [event.eventId],
    );
    const ended = it.complete(event, number);
    await expect(ended).rejects.toMatchObject({ code: "body_missing" });
    expect(await it.ledger.reads.findEvent(event)).toMatchObject({
      payload: null,
      body: undefined,
    });
  });
});

describe("Partitions", () => {
  test("that are missing are made by the insert that finds none", async () => {
    await dropPartitions();
    expect(await it.ledger.intake.accept([anEvent()])).toEqual(["accepted"]);
    expect(await partitions()).toHaveLength(15);
    await dropPartitions();
    expect(await it.claim(anEvent())).toBe(1);
    expect(await partitions()).toHaveLength(15);
  });

  test("that are missing are made once by many inserts at the same time", async () => {
    await dropPartitions();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => it.ledger.intake.accept([anEvent()])),
    );
    expect(answers.flat()).toEqual(Array(10).fill("accepted"));
    expect(await partitions()).toHaveLength(15);
  });

  test("are made ahead beside an open transaction that reads bodies, without waiting for it", async () => {
    const event = anEvent();
    await it.ledger.intake.accept([event]);
    const commit = await it.holdOpen("SELECT * FROM millrace.bodies");
    expect(await ensurePartitions(it.pool, 16)).toBe(2);
    await commit();
    expect(await ensurePartitions(it.pool, 16)).toBe(0);
  });
});
