import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLedger, migrate } from "@millrace/ledger";
import { afterAll, beforeAll, expect, test } from "vitest";
import { anEvent, keyOf } from "../support/events.ts";
import { openTestLedger, testPool, type TestLedger } from "../support/ledger-fixture.ts";
import { scratchDatabase } from "../support/scratch-database.ts";

// What the ledger keeps for jobs that nobody signed, and for signed ones that it has lost.

let it: TestLedger;
beforeAll(async () => {
  it = await openTestLedger();
});
afterAll(() => it.close());

const DAY_MS = 86_400_000;
const setUntil = (at: string) => it.ask(`UPDATE millrace.job_signing SET unsigned_until = ${at}`);

test("in a ledger that this build made, no unsigned job is waited for", async () => {
  expect(await it.ledger.claims.unsignedJobsMs(7)).toBeLessThanOrEqual(0);
});

test("in a ledger that a build before has made, the first worker with a key begins the time", async () => {
  const database = await scratchDatabase();
  const pool = testPool(database.url);
  const folder = await mkdtemp(join(tmpdir(), "millrace-migrations-"));
  try {
    const own = fileURLToPath(new URL("../../packages/ledger/migrations", import.meta.url));
    await cp(own, folder, { recursive: true, filter: (path) => !/00(?:09|1\d)_/.test(path) });
    await migrate({ pool, folder });
    await migrate({ pool });
    const leftMs = await createLedger({ pool }).claims.unsignedJobsMs(7);
    expect(leftMs).toBeGreaterThan(7 * DAY_MS - 60_000);
  } finally {
    await rm(folder, { recursive: true });
    await pool.end();
    await database.drop();
  }
});

test("the first of several workers with a key begins the time, and none puts it off", async () => {
  await it.ledger.claims.noteUnsignedJobs();
  const { unsignedJobsMs } = it.ledger.claims;
  const left = await Promise.all([unsignedJobsMs(7), unsignedJobsMs(7), unsignedJobsMs(7)]);
  for (const leftMs of [...left, await unsignedJobsMs(300)]) {
    expect(leftMs).toBeGreaterThan(7 * DAY_MS - 60_000);
    expect(leftMs).toBeLessThanOrEqual(7 * DAY_MS);
  }
  await setUntil("now() - interval '1 day'");
  expect(await unsignedJobsMs(7)).toBeLessThan(0);
});

test("a replay that was lost is recorded as failed on the body of its event, once", async () => {
  const event = anEvent();
  await it.ledger.intake.accept([event]);
  const replay = { ...keyOf(event), generation: 3 };
  const reason = { code: "replay_lost", message: "lost", run: "1.0" } as const;
  expect(await it.ledger.claims.abandonEvent(replay, reason)).toBe("failed");
  expect(await it.ledger.claims.abandonEvent(replay, reason)).toBe("already_failed");
  const found = await it.ledger.reads.findEvent(replay);
  expect(found?.event).toMatchObject({ status: "failed", last_error_code: "replay_lost" });
  expect(Buffer.from(found?.body ?? []).equals(event.body)).toBe(true);
});

test("of an event that the ledger does not know, no replay was lost", async () => {
  const replay = { ...keyOf(anEvent()), generation: 1 };
  const reason = { code: "replay_lost", message: "lost", run: "1.0" } as const;
  expect(await it.ledger.claims.abandonEvent(replay, reason)).toBe("unknown");
  expect(await it.ledger.reads.findEvent(replay)).toBeUndefined();
});
