import type { HandlerFunction } from "@millrace/core";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { openForAll } from "../support/open-for.ts";
import { openTestProcessors } from "./processor-fixture.ts";
import { fresh, warmGroups } from "./warm-groups.ts";

const processors = openForAll(openTestProcessors);

test("of events with one signed message one is handled, in a group and beside it", async () => {
  const { together } = await warmGroups(processors, () => {});
  const digest = "g".repeat(43);
  const all = Array.from({ length: 12 }, (_, index) =>
    fresh({ unsigned: true, digest, body: `{"encoding":${index}}` }),
  );
  let waiting = all;
  const outcomes: string[] = [];
  await until(async () => {
    const results = await together(waiting);
    waiting = waiting.filter((_, index) => results[index]?.kind === "lost");
    outcomes.push(...results.flatMap((end) => (end.kind === "completed" ? [end.outcome] : [])));
    return waiting.length === 0;
  });
  expect(outcomes.toSorted()).toEqual(["handled", ...Array<string>(11).fill("suspected_replay")]);
  const effects = await Promise.all(all.map(({ event }) => processors.effects(event.eventId)));
  expect(effects.reduce((sum, count) => sum + count)).toBe(1);
});

test("a group is undone if the ledger takes one of its messages while the handlers run", async () => {
  const body = Buffer.from('{"message":"of another"}');
  const earlier = fresh({ unsigned: true, body: body.toString() });
  let taken: Promise<unknown> | undefined;
  const takeEarlier: HandlerFunction = async (event) => {
    if (!event.unsigned) return;
    await (taken ??= processors.ledger.intake.accept([{ ...earlier.event, body }]));
  };
  // A group that takes long is undone before its handlers end: its events are recorded after this one.
  const beforeRecord = async () => void (await taken);
  const { together } = await warmGroups(processors, takeEarlier, { beforeRecord });
  const later = fresh({ unsigned: true, body: body.toString() });
  const others = Array.from({ length: 5 }, () => fresh());
  const [result] = await together([later, ...others]);
  expect(result).toMatchObject({ kind: "completed", outcome: "suspected_replay" });
  expect(await taken).toEqual(["accepted"]);
  expect(await processors.effects(later.event.eventId)).toBe(0);
  for (const { event } of others) expect(await processors.effects(event.eventId)).toBe(1);
});
