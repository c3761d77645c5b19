import { on, PermanentError, RetryLater, type EventJob } from "@millrace/core";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { fresh, useProcessors } from "./processor-fixture.ts";
import { until } from "../support/until.ts";

const processors = useProcessors();

async function warmSet(
  throwFor: (eventId: string) => boolean,
  errorOf = (eventId: string): Error => new PermanentError(`no: ${eventId}`),
) {
  const sets: number[] = [];
  const processor = processors.create(
    [
      on(["bank", "shop"], "order.*", { batch: 100 }, async (events, { tx }) => {
        sets.push(events.length);
        const ids = events.map(({ id }) => id);
        await tx.execute(
          sql`insert into effects select id, 'effect' from unnest(${sql.param(ids)}::text[]) as id`,
        );
        const bad = ids.find(throwFor);
        if (bad !== undefined) throw errorOf(bad);
      }),
    ],
    { groups: true, concurrency: 50 },
  );
  const together = (jobs: readonly EventJob[]) =>
    Promise.all(jobs.map((job) => processor.process(job)));
  for (let round = 0; (sets.at(-1) ?? 0) < 16; round += 1) {
    if (round > 300) throw new Error(`No set of 16 was formed: ${sets.join()}`);
    await together(Array.from({ length: 32 }, () => fresh()));
  }
  sets.length = 0;
  return { together, sets };
}

test("a set-based handler gets the events that wait at the same time, and each completes", async () => {
  const { together, sets } = await warmSet(() => false);
  // On a busy machine sets may be small for a while.
  const jobs = await until(async () => {
    sets.length = 0;
    const some = Array.from({ length: 30 }, () => fresh());
    const results = await together(some);
    expect(results.every(({ kind }) => kind === "completed")).toBe(true);
    return Math.max(...sets) > 10 && some;
  });
  for (const { event } of jobs) expect(await processors.effects(event.eventId)).toBe(1);
});

test("a set that throws is undone and halved, until the event that it throws for fails alone", async () => {
  const bad = new Set<string>();
  const { together, sets } = await warmSet((eventId) => bad.has(eventId));
  const jobs = Array.from({ length: 32 }, () => fresh());
  for (const index of [5, 20]) bad.add(jobs[index]?.event.eventId ?? "");
  const results = await together(jobs);
  for (const [index, { event }] of jobs.entries()) {
    const isBad = bad.has(event.eventId);
    expect(results[index]?.kind).toBe(isBad ? "failed" : "completed");
    expect(await processors.effects(event.eventId)).toBe(isBad ? 0 : 1);
    expect(await processors.row(event.eventId)).toMatchObject({ attempts: 1 });
    if (isBad)
      expect(results[index]).toMatchObject({ message: `PermanentError: no: ${event.eventId}` });
  }
  expect(sets.filter((size) => size === 1).length).toBeGreaterThanOrEqual(2);
});

test("a set-based handler may wait for one of its events, and the others complete", async () => {
  const waiting = new Set<string>();
  const { together } = await warmSet(
    (eventId) => waiting.has(eventId),
    () => new RetryLater({ afterMs: 5_000 }),
  );
  const jobs = Array.from({ length: 32 }, () => fresh());
  waiting.add(jobs[7]?.event.eventId ?? "");
  const results = await together(jobs);
  expect(results[7]).toMatchObject({ kind: "retry", code: "retry_later", afterMs: 5_000 });
  expect(results.filter(({ kind }) => kind === "completed")).toHaveLength(31);
});

test("a set-based handler gets an event that was started before alone", async () => {
  const { together, sets } = await warmSet(() => false);
  const [result] = await together([fresh({ startedBefore: true })]);
  expect(result?.kind).toBe("completed");
  expect(sets).toEqual([1]);
});
