import { bodyHash, type IncomingEvent } from "@millrace/core";
import { describe, expect, test } from "vitest";
import { anEvent } from "../support/events.ts";
import { useLedger } from "../support/ledger-fixture.ts";

const it = useLedger();

function otherwise(event: IncomingEvent, text: string): IncomingEvent {
  const body = Buffer.from(text);
  return { ...event, body, bodyHash: bodyHash(body) };
}

const conflictsOf = async (event: IncomingEvent) =>
  (await it.ledger.reads.findEvent(event))?.conflicts ?? [];

describe("accept", () => {
  test("keeps an event pending, with its body, before it answers", async () => {
    const event = anEvent({ unsigned: true, headers: { "x-shop": "a" } });
    expect(await it.ledger.intake.accept([event])).toEqual(["accepted"]);
    const found = await it.ledger.reads.findEvent(event);
    expect(found?.event).toMatchObject({ status: "pending", attempts: 0, unsigned: true });
    expect(found?.headers).toEqual({ "x-shop": "a" });
    expect(Buffer.from(found?.body ?? [])).toEqual(event.body);
    expect(found?.event.received_at).toBe(new Date(event.acceptedAtMs).toISOString());
  });

  test("knows duplicates exactly, across calls and within one", async () => {
    const [a, b] = [anEvent(), anEvent()];
    expect(await it.ledger.intake.accept([a, b, a])).toEqual(["accepted", "accepted", "duplicate"]);
    const again = await it.ledger.intake.accept([b, anEvent(), a]);
    expect(again).toEqual(["duplicate", "accepted", "duplicate"]);
    const bodies = await it.ask(
      "SELECT FROM millrace.bodies b JOIN millrace.events e ON b.id = e.body_id WHERE e.event_id = ANY($1)",
      [[a.eventId, b.eventId]],
    );
    expect(bodies).toHaveLength(2);
  });

  test("counts source, id and generation all as identity", async () => {
    const event = anEvent();
    const others = [
      { ...event, source: "other" },
      { ...event, generation: 1 },
      { ...event, eventId: event.eventId.toUpperCase() },
      { ...event, eventId: `${event.eventId} ` },
    ];
    expect(await it.ledger.intake.accept([event, ...others])).toEqual(Array(5).fill("accepted"));
  });

  test("answers each event by itself when Postgres cannot hold one of them", async () => {
    const bad = [anEvent({ headers: { "x-nul": "\0" } }), anEvent({ eventId: "a\0b" })];
    expect(await it.ledger.intake.accept([anEvent(), ...bad, anEvent()])).toEqual([
      ...["accepted", expect.any(Error), expect.any(Error), "accepted"],
    ]);
  });

  test("of many calls at once with the same events, each event is accepted by one", async () => {
    const events = Array.from({ length: 30 }, () => anEvent());
    const shuffled = Array.from({ length: 8 }, (_, n) => [
      ...events.slice(n),
      ...events.slice(0, n),
    ]);
    const answers = await Promise.all(shuffled.map((list) => it.ledger.intake.accept(list)));
    expect(answers.flat().filter((answer) => answer === "accepted")).toHaveLength(30);
    expect(answers.flat().filter((answer) => answer === "duplicate")).toHaveLength(210);
  });
});

describe("accept of an event that the ledger knows", () => {
  test("tells one that has failed from one that is pending or completed", async () => {
    const [pending, failed, completed] = [anEvent(), anEvent(), anEvent()];
    await it.ledger.intake.accept([pending, failed, completed]);
    await it.failForGood(failed);
    await it.complete(completed);
    const known = [pending, failed, completed, otherwise(failed, "other"), anEvent()];
    expect(await it.ledger.intake.accept(known)).toEqual([
      ...["duplicate", "failed", "duplicate", "conflict", "accepted"],
    ]);
  });

  test("keeps the first body, and counts the deliveries of each other one", async () => {
    const event = anEvent();
    const [second, third] = [otherwise(event, "second"), otherwise(event, "third")];
    expect(await it.ledger.intake.accept([event, second, event, third])).toEqual([
      ...["accepted", "conflict", "duplicate", "conflict"],
    ]);
    expect(await it.ledger.intake.accept([second, event])).toEqual(["conflict", "duplicate"]);
    expect(await conflictsOf(event)).toMatchObject([
      { body_hash: second.bodyHash, deliveries: 2 },
      { body_hash: third.bodyHash, deliveries: 1 },
    ]);
    const kept = await it.ledger.reads.findEvent(event);
    expect(Buffer.from(kept?.body ?? [])).toEqual(event.body);
  });

  test("an event that another call inserts meanwhile is still told apart", async () => {
    const event = anEvent();
    const other = otherwise(event, "other");
    const commit = await it.holdOpen(
      `INSERT INTO millrace.events (source, event_id, generation, type, body_hash, unsigned,
         received_at, body_id) VALUES ($1, $2, 0, 'x', $3, false, now(), 0)`,
      [event.source, event.eventId, event.bodyHash],
    );
    const accepting = it.ledger.intake.accept([other]);
    await it.untilBlocked();
    await commit();
    expect(await accepting).toEqual(["conflict"]);
  });
});

test("conflicts that the queue found are counted, also before the ledger knows the event", async () => {
  const event = anEvent();
  const other = otherwise(event, "other");
  await it.ledger.intake.noteConflicts([other, other]);
  await it.ledger.intake.noteConflicts([other, { ...other, eventId: "nul\0" }]);
  await it.ledger.intake.accept([event]);
  expect(await conflictsOf(event)).toMatchObject([{ body_hash: other.bodyHash, deliveries: 3 }]);
});
