import { randomUUID } from "node:crypto";
import type { IncomingEvent, Outcome } from "@millrace/core";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { aJob, anEvent, keyOf } from "../support/events.ts";
import {
  claim,
  failForGood,
  failure,
  openTestLedger,
  patient,
  statusOf,
} from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";

const it = openForAll(() => openTestLedger({ max: 12 }));

/** Events of one body, each with an id that the sender did not sign. */
function twins(count: number, over: Partial<IncomingEvent> = {}): IncomingEvent[] {
  const body = Buffer.from(randomUUID());
  return Array.from({ length: count }, () => anEvent({ body, unsigned: true, ...over }));
}

/** Attempts an event as the processor does; `handle` runs only if it is not taken for a replay. */
async function attempt(
  event: IncomingEvent,
  handle: () => Promise<unknown> = () => Promise.resolve(),
): Promise<"lost" | Outcome> {
  let outcome: Outcome = "handled";
  const end = await it.ledger.claims.attempt(
    keyOf(event),
    await claim(it.ledger, event),
    async (_tx, { suspectedReplay }) => {
      if (suspectedReplay) outcome = "suspected_replay";
      else await handle();
      return outcome;
    },
    { ...patient(), bodyDedup: true },
  );
  return end === "lost" ? end : outcome;
}

const age = (event: IncomingEvent, hours: number) =>
  it.ask(
    "UPDATE millrace.events SET recorded_at = now() - make_interval(hours => $2) WHERE event_id = $1",
    [event.eventId, hours],
  );

test("a second id with the body of one that was handled, or is pending, or has failed, is a replay", async () => {
  const [first, second, third] = twins(3) as [IncomingEvent, IncomingEvent, IncomingEvent];
  await it.ledger.intake.accept([first]);
  expect(await attempt(second)).toBe("suspected_replay");
  await failForGood(it.ledger, first);
  expect(await attempt(third)).toBe("suspected_replay");
  expect(await statusOf(it, third)).toBe("completed");
  expect(await it.ledger.retries.retryMany([first])).toMatchObject([{ kind: "retried" }]);
  expect(await attempt(first)).toBe("handled");
});

test("one that is itself suspected swallows no other: a day after the first, the next one fails", async () => {
  const [day, night, next] = twins(3) as [IncomingEvent, IncomingEvent, IncomingEvent];
  await it.ledger.intake.accept([day, night]);
  await age(day, 30);
  await age(night, 20);
  expect(await attempt(day)).toBe("handled");
  expect(await attempt(night)).toBe("suspected_replay");
  await expect(attempt(next)).rejects.toMatchObject({
    code: "suspected_replay",
    message: expect.stringContaining(
      `came before as "${day.eventId}" of type "order.paid"`,
    ) as string,
  });
});

/** Fails an event as the processor does when an attempt of it was refused. */
async function suspect(event: IncomingEvent, run = "run-1"): Promise<void> {
  await expect(attempt(event)).rejects.toMatchObject({ code: "suspected_replay" });
  const failed = { ...failure, code: "suspected_replay", final: true, run } as const;
  expect(await it.ledger.claims.fail(keyOf(event), 1, failed)).toBe("recorded");
}

test("the same message as another type, or in another scope of ids, may be genuine", async () => {
  const [first, ping, shop] = twins(3) as [IncomingEvent, IncomingEvent, IncomingEvent];
  expect(await attempt(first)).toBe("handled");
  await suspect({ ...ping, type: "ping" });
  await suspect({ ...shop, eventId: `shop|order.paid|${shop.eventId}` });
  // They are failed, and swallow none either.
  const [again] = twins(1, { body: first.body }) as [IncomingEvent];
  await suspect({ ...again, type: "ping" });
});

test("a suspected event runs when a person retries it, and when that attempt failed again, but not by a delivery", async () => {
  const [first, later] = twins(2) as [IncomingEvent, IncomingEvent];
  await it.ledger.intake.accept([first]);
  await age(first, 25);
  expect(await attempt(first)).toBe("handled");
  await suspect(later);
  const job = aJob(later, "run-of-a-redelivery");
  expect(await it.ledger.claims.record([job])).toMatchObject([
    { kind: "failed", code: "suspected_replay" },
  ]);
  expect(await it.ledger.retries.retryMany([later])).toMatchObject([{ kind: "retried" }]);
  const number = await claim(it.ledger, later);
  await it.ledger.claims.fail(keyOf(later), number, failure);
  expect(await attempt(later)).toBe("handled");
});

test("a digest tells messages apart that have one body, and joins those that have several", async () => {
  const [one, two] = twins(2) as [IncomingEvent, IncomingEvent];
  const digest = "d".repeat(43);
  const source = randomUUID();
  expect(await attempt({ ...one, source, digest })).toBe("handled");
  expect(await attempt({ ...two, source, digest: "e".repeat(43) })).toBe("handled");
  const [other] = twins(1, { source, digest }) as [IncomingEvent];
  expect(await attempt(other)).toBe("suspected_replay");
});

test("a body that came before is not stored again, and its headers are each event's own", async () => {
  const [first = anEvent(), ...others] = twins(5).map((event, index) => ({
    ...event,
    headers: { "x-delivery": `${index}` },
  }));
  const stored = async () => {
    const text = "SELECT count(*)::int AS n FROM millrace.bodies WHERE body = $1";
    return (await it.ask<{ n: number }>(text, [first.body]))[0]?.n;
  };
  // In one call, in calls after each other, and by the worker's record.
  await it.ledger.intake.accept([first, ...others.slice(0, 2)]);
  await it.ledger.intake.accept(others.slice(2, 3));
  for (const event of others.slice(3)) await claim(it.ledger, event);
  expect(await stored()).toBe(1);
  for (const [index, event] of others.entries()) {
    const found = await it.ledger.reads.findEvent(keyOf(event));
    expect(found?.headers).toEqual({ "x-delivery": `${index + 1}` });
    expect(Buffer.from(found?.body ?? []).equals(first.body)).toBe(true);
  }
  const found = await it.ledger.reads.findEvent(keyOf(first));
  expect(found?.sameMessage.total).toBe(4);
  expect(found?.sameMessage.events.map(({ event_id }) => event_id).toSorted()).toEqual(
    others.map(({ eventId }) => eventId).toSorted(),
  );
});

test("a signed id has a body of its own, whatever came before", async () => {
  const events = twins(2, { unsigned: false });
  await it.ledger.intake.accept(events);
  const text = "SELECT count(*)::int AS n FROM millrace.bodies WHERE body = $1";
  expect(await it.ask(text, [events[0]?.body])).toEqual([{ n: 2 }]);
});

test("signed ids, other sources and replays of ours make nothing suspect", async () => {
  const [signed, ours, other, own] = twins(4) as [
    IncomingEvent,
    IncomingEvent,
    IncomingEvent,
    IncomingEvent,
  ];
  await it.ledger.intake.accept([{ ...signed, unsigned: false }]);
  await it.ledger.intake.accept([{ ...ours, generation: 1 }]);
  expect(await attempt({ ...other, source: "other" })).toBe("handled");
  expect(await attempt(own)).toBe("handled");
});

test("of many at once exactly one is handled", async () => {
  const events = twins(8);
  const ends = await Promise.all(
    events.map(async (event) => {
      for (;;) {
        const end = await attempt(event);
        if (end !== "lost") return end;
      }
    }),
  );
  expect(ends.filter((end) => end === "handled")).toHaveLength(1);
  expect(ends.filter((end) => end === "suspected_replay")).toHaveLength(7);
});

test("an earlier one whose record came in late gives way to the one that was handled meanwhile", async () => {
  const [early, late] = twins(2) as [IncomingEvent, IncomingEvent];
  await it.ledger.intake.accept([early]);
  await age(early, 1);
  // Hidden from the second as an uncommitted row would be: under another body.
  const hide = (bodyHash: string) =>
    it.ask("UPDATE millrace.events SET body_hash = $2 WHERE event_id = $1", [
      early.eventId,
      bodyHash,
    ]);
  await hide("x".repeat(43));
  let shown: (() => void) | undefined;
  const isShown = new Promise<void>((resolve) => {
    shown = resolve;
  });
  let handling = false;
  const lateEnd = attempt(late, async () => {
    handling = true;
    await isShown;
  });
  await until(() => handling);
  await hide(early.bodyHash);
  expect(await attempt(early)).toBe("lost");
  shown?.();
  expect(await lateEnd).toBe("handled");
  expect(await attempt(early)).toBe("suspected_replay");
});
