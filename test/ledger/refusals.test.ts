import { countActivity } from "@millrace/ledger";
import { beforeEach, expect, test } from "vitest";
import { openTestLedger } from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";

const it = openForAll(openTestLedger);
beforeEach(() => it.ask("TRUNCATE millrace.refusals"));

const MINUTE = 60_000;
const bad = (source: string | undefined, deliveries: number, agoMs = 0) => ({
  ...{ source, code: "invalid_signature", deliveries, agoMs },
});

test("refusals of all ingresses are counted by source and code, and those before the last minutes are left out", async () => {
  await it.ledger.intake.noteRefusals([bad("acme", 2), bad("acme", 3, 3 * MINUTE)]);
  await it.ledger.intake.noteRefusals([bad("acme", 4), bad("other", 1, 9 * MINUTE)]);
  await it.ledger.intake.noteRefusals([
    { source: undefined, code: "unknown_source", deliveries: 20, agoMs: 0 },
  ]);
  expect(await it.ledger.reads.findRefusals(5)).toEqual([
    { source: undefined, code: "unknown_source", deliveries: 20 },
    { source: "acme", code: "invalid_signature", deliveries: 9 },
  ]);
  expect(await it.ledger.reads.findRefusals(10)).toHaveLength(3);
});

test("two ingresses that count the same reasons at once wait for each other, and lose nothing", async () => {
  const reasons = Array.from({ length: 50 }, (_, n) => bad(`source-${n}`, 1));
  await Promise.all([
    it.ledger.intake.noteRefusals(reasons),
    it.ledger.intake.noteRefusals(reasons.toReversed()),
  ]);
  const found = await it.ledger.reads.findRefusals(5);
  expect(found.map(({ deliveries }) => deliveries)).toEqual(reasons.map(() => 2));
});

test("the worker that counts deletes them after a day", async () => {
  await it.ledger.intake.noteRefusals([
    bad("new", 1, 24 * 60 * MINUTE),
    bad("old", 1, 26 * 60 * MINUTE),
  ]);
  await countActivity(it.pool);
  expect(await it.ask("SELECT source FROM millrace.refusals")).toEqual([{ source: "new" }]);
});
