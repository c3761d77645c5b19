import { parseFind, type EmittedEvent, type IncomingEvent } from "@millrace/core";
import { createRetentionLedger, type EventSearch } from "@millrace/ledger";
import { describe, expect, test } from "vitest";
import { age } from "../support/aged-events.ts";
import { anEvent, keyOf } from "../support/events.ts";
import { patient, useLedger } from "../support/ledger-fixture.ts";
import { attemptFirst, attemptGroup } from "./attempt-fixture.ts";

const paths = ["json:data.customer", "json:data.order"].flatMap((text) => parseFind(text) ?? []);
const labels = paths.map(({ label }) => label);
const it = useLedger({ find: new Map([["shop", paths]]) });

let made = 0;
const withValues = (customer: string, over: Partial<IncomingEvent> = {}) =>
  anEvent({ ...over, body: Buffer.from(JSON.stringify({ n: (made += 1), data: { customer } })) });

const search = async (asked: EventSearch) =>
  (await it.ledger.reads.findEvents(asked)).events.map(({ event_id }) => event_id);
const ofCustomer = (customer: string) => search({ values: [`customer: ${customer}`] });
const valuesOf = async (event: IncomingEvent) =>
  (await it.ledger.reads.findEvent({ ...keyOf(event), generation: undefined }))?.find;

describe("an event is recorded with its values", () => {
  test.each<[string, (event: IncomingEvent) => Promise<unknown>]>([
    ["by the ingress", (event) => it.ledger.intake.accept([event])],
    ["before its attempt", (event) => it.complete(event)],
    ["by a first attempt", (event) => attemptFirst(it.ledger, event)],
    [
      "by a shared first attempt",
      (event) => attemptGroup(it.ledger, [event, anEvent(), anEvent()]),
    ],
  ])("%s", async (how, record) => {
    const customer = `cus "${how}", \\ {}`;
    const event = withValues(customer);
    await record(event);
    expect(await ofCustomer(customer)).toEqual([event.eventId]);
    expect(await valuesOf(event)).toEqual([`customer: ${customer}`]);
  });

  test("by a handler that emits it, also behind a savepoint", async () => {
    const parent = withValues("cus_parent");
    const about = { parent: keyOf(parent), afterMs: 0 };
    const [one, two] = [1, 2].map((): EmittedEvent => ({ ...withValues("cus_emitted"), ...about }));
    const attempt = await it.claim(parent);
    const work: Parameters<typeof it.ledger.claims.attempt>[2] = async (tx, _event, target) => {
      if (one !== undefined) await target.emit(one);
      await tx.transaction(async () => {
        if (two !== undefined) await target.emit(two);
      });
      return "handled";
    };
    await it.ledger.claims.attempt(keyOf(parent), attempt, work, patient());
    const emitted = [one?.eventId, two?.eventId].toSorted();
    expect((await ofCustomer("cus_emitted")).toSorted()).toEqual(emitted);
  });

  test("and replayed with them; a source without `find` has none", async () => {
    const event = withValues("cus_replayed");
    await it.complete(event);
    await it.ledger.retries.replay([{ source: event.source, eventId: event.eventId }]);
    expect(await ofCustomer("cus_replayed")).toEqual([event.eventId, event.eventId]);
    const other = withValues("cus_replayed", { source: "other" });
    await it.complete(other);
    expect(await valuesOf(other)).toEqual([]);
  });
});

test("a value goes with the body that it was in, of a completed event too", async () => {
  const [done, failed] = [withValues("cus_old"), withValues("cus_old")];
  await it.complete(done);
  await it.failForGood(failed);
  const query = async (text: string, values?: unknown[]) => ({ rows: await it.ask(text, values) });
  for (const { eventId } of [done, failed]) await age({ query }, 40, eventId);
  const retention = createRetentionLedger({ pool: it.pool });
  const days = await retention.partitions();
  const old = days.find(({ ageDays }) => ageDays === 40) ?? expect.unreachable();
  await retention.moveBodies(old);
  await retention.forgetFinds(old, new AbortController().signal);
  expect(await ofCustomer("cus_old")).toEqual([failed.eventId]);
  expect(await valuesOf(done)).toEqual([]);
  const change = it.ask("UPDATE millrace.events SET find = '{}' WHERE event_id = $1", [
    done.eventId,
  ]);
  await expect(change).rejects.toThrow("Cannot update event");
});

describe("a word", () => {
  const event = withValues("cus_word", { eventId: "evt_word_0001" });

  test("is the beginning of an id, a value under any name, or else a part of an id", async () => {
    await it.ledger.intake.accept([event]);
    for (const word of ["evt_word_0001", "evt_word", "cus_word", "word_0001", "0001"]) {
      expect(await search({ words: [word], labels })).toEqual([event.eventId]);
    }
    expect(await search({ words: ["cus_wor"], labels })).toEqual([]);
    expect(await search({ words: ["evt_word", "cus_word"], labels })).toEqual([event.eventId]);
    const count = await it.ledger.reads.countEvents({ words: ["word_0001"], labels }, 10);
    expect(count).toMatchObject({ groups: [{ count: 1 }], isPartial: false });
  });
});

test("a search in bodies or for a frequent word reads so many, says how far, and goes on from there", async () => {
  const needle = withValues("cus_needle", { source: "hay" });
  await it.ledger.intake.accept([needle]);
  const hay = () => Array.from({ length: 500 }, () => anEvent({ source: "hay" }));
  for (let left = 41; left > 0; left -= 1) await it.ledger.intake.accept(hay());
  const asked = { source: "hay", body: ['"cus_needle"'], limit: 50 };
  const found: string[] = [];
  let pages = 0;
  let cursor: string | undefined;
  do {
    const page = await it.ledger.reads.findEvents({ ...asked, cursor });
    expect(page.searched_to).toEqual(page.next === null ? null : expect.any(String));
    found.push(...page.events.map(({ event_id }) => event_id));
    cursor = page.next ?? undefined;
    pages += 1;
  } while (cursor !== undefined);
  expect(found).toEqual([needle.eventId]);
  expect(pages).toBeGreaterThan(1);
  expect(await search({ ...asked, body: ["cus_needle", "no such text"] })).toEqual([]);
  // Too many ids begin with it to be sorted.
  const newest = { source: "hay", limit: 50 };
  expect(await search({ ...newest, words: ["evt_"] })).toEqual(await search(newest));
});
