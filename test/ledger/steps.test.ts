import type { IncomingEvent } from "@millrace/core";
import { expect, test } from "vitest";
import { aJob, anEvent, keyOf } from "../support/events.ts";
import { failure, useLedger } from "../support/ledger-fixture.ts";

const it = useLedger({ lockTimeoutMs: 5_000 });

const step = { name: "refund", result: '{"id":"re_1"}' };
const steps = (event: IncomingEvent) =>
  it.ask("SELECT name, attempt, result FROM millrace.steps WHERE event_id = $1", [event.eventId]);

test("a step is recorded once for its attempt, and read by the attempts after it", async () => {
  const event = anEvent();
  const { claims } = it.ledger;
  expect(await it.claim(event)).toBe(1);
  for (let time = 0; time < 2; time += 1) {
    expect(await claims.recordStep(keyOf(event), 1, step)).toBe("recorded");
  }
  expect(await claims.recordStep(keyOf(event), 1, { name: "mail", result: null })).toBe("recorded");
  expect((await claims.readBegun(keyOf(event), 1))?.steps).toEqual(new Map());
  await claims.fail(keyOf(event), 1, failure);
  expect(await it.claim(event)).toBe(2);
  const begun = await claims.readBegun(keyOf(event), 2);
  expect(begun?.steps).toEqual(
    new Map([
      ["refund", step.result],
      ["mail", null],
    ]),
  );
  expect(Buffer.from(begun?.content.body ?? "")).toEqual(Buffer.from(event.body));
  expect(begun?.content.headers).toEqual(event.headers);
});

test("an attempt that is not the latest, or whose event is settled, records and reads nothing", async () => {
  const { claims } = it.ledger;
  const [later, completed, failed] = [anEvent(), anEvent(), anEvent()];
  for (const event of [later, later, completed, failed]) await it.claim(event);
  expect(await claims.completeCalled(keyOf(completed), 1, "handled")).toBe("completed");
  await claims.fail(keyOf(failed), 1, { ...failure, final: true });
  for (const event of [later, completed, failed]) {
    expect(await claims.recordStep(keyOf(event), 1, step)).toBe("lost");
    expect(await claims.readBegun(keyOf(event), 1)).toBeUndefined();
    expect(await claims.completeCalled(keyOf(event), 1, "handled")).toBe("lost");
    expect(await steps(event)).toEqual([]);
  }
});

test("a step whose record comes second, behind that of a later attempt, loses", async () => {
  const event = anEvent();
  await it.claim(event);
  const later = "UPDATE millrace.events SET attempts = 2 WHERE event_id = $1";
  const commit = await it.holdOpen(later, [event.eventId]);
  const recording = it.ledger.claims.recordStep(keyOf(event), 1, step);
  await it.untilBlocked();
  await commit();
  expect(await recording).toBe("lost");
  expect(await steps(event)).toEqual([]);
});

test("a step whose record comes first is read by the later attempt, which waits for it", async () => {
  const event = anEvent();
  await it.claim(event);
  // The statement holds the row as the record of a step does.
  const share = "SELECT FROM millrace.events WHERE event_id = $1 FOR SHARE";
  const commit = await it.holdOpen(share, [event.eventId]);
  expect(await it.ledger.claims.recordStep(keyOf(event), 1, step)).toBe("recorded");
  expect(await it.ledger.claims.record([aJob(event)])).toMatchObject([{ kind: "busy" }]);
  await commit();
  expect(await it.claim(event)).toBe(2);
  expect((await it.ledger.claims.readBegun(keyOf(event), 2))?.steps.size).toBe(1);
});
