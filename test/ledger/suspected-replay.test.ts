import { randomUUID } from "node:crypto";
import type { IncomingEvent, Outcome } from "@millrace/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { anEvent, keyOf } from "../support/events.ts";
import {
  claim,
  failure,
  openTestLedger,
  patient,
  statusOf,
  type TestLedger,
} from "../support/ledger-fixture.ts";

let it: TestLedger;
beforeAll(async () => {
  it = await openTestLedger({ max: 12 });
});
afterAll(() => it.close());

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
  const number = await claim(it.ledger, first);
  await it.ledger.claims.fail(keyOf(first), number, { ...failure, final: true });
  expect(await attempt(third)).toBe("suspected_replay");
  expect(await statusOf(it, third)).toBe("completed");
  expect(await it.ledger.retries.retryMany([first])).toMatchObject([{ kind: "retried" }]);
  expect(await attempt(first)).toBe("handled");
});

test("one that is itself suspected does not make another one suspect", async () => {
  const [day, night, next] = twins(3) as [IncomingEvent, IncomingEvent, IncomingEvent];
  await it.ledger.intake.accept([day, night]);
  await age(day, 30);
  await age(night, 20);
  expect(await attempt(day)).toBe("handled");
  expect(await attempt(night)).toBe("suspected_replay");
  expect(await attempt(next)).toBe("handled");
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
