import { mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { EventKey } from "@millrace/core";
import { runRetention, type RetentionNotice, type RetentionPolicy } from "@millrace/operations";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { anEvent, keyOf } from "../support/events.ts";
import { claim } from "../support/ledger-fixture.ts";
import { openForEach } from "../support/open-for.ts";
import { openTestRetention } from "../support/retention-fixture.ts";

const it = openForEach(openTestRetention);
let folder: string;
let policy: RetentionPolicy;
let notices: RetentionNotice[];
beforeEach(() => {
  folder = newFolder();
  policy = { bodiesDays: 30, keysDays: 90, archiveDir: folder };
  notices = [];
});
afterEach(() => void Reflect.deleteProperty(globalThis, HOOK));

const HOOK = Symbol.for("millrace.failpoint");
const run = (with_ = policy, ledger = it.retention) =>
  it.untilAlone(() =>
    runRetention({ ledger, notify: (notice) => void notices.push(notice) }, with_),
  );
const fileOf = async (daysAgo: number) =>
  join(folder, `millrace-bodies-${(await it.partition(daysAgo)).day}.jsonl.gz`);
const linesOf = async (file: string) =>
  gunzipSync(await readFile(file))
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

async function completed(body: Buffer, daysAgo: number): Promise<EventKey> {
  const event = anEvent({ body });
  await it.settle(keyOf(event), await claim(it.ledger, event), "completed");
  await it.age(keyOf(event), daysAgo);
  return keyOf(event);
}

describe("The archive of a day", () => {
  test("has every completed event, its bytes, its headers and its times", async () => {
    const bodies = [
      Buffer.from('{"text":"grün \\u0000 \n"}'),
      Buffer.from("x".repeat(3_000_000)),
      Buffer.from([0x7b, 0xff, 0x00, 0x0a, 0x7d]),
    ];
    const keys: EventKey[] = [];
    for (const body of bodies) keys.push(await completed(body, 40));
    await it.event("failed", 40);
    const file = await fileOf(40);
    await run();
    const lines = await linesOf(file);
    expect(lines.map(({ event_id }) => event_id)).toEqual(keys.map(({ eventId }) => eventId));
    expect(lines.map(({ body, body_encoding: encoding }) => [encoding, body])).toEqual([
      ["utf8", bodies[0]?.toString()],
      ["utf8", bodies[1]?.toString()],
      ["base64", bodies[2]?.toString("base64")],
    ]);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(lines[0]).toMatchObject({
      ...{ source: "shop", generation: 0, type: "order.paid", status: "completed" },
      ...{ outcome: "handled", attempts: 1, unsigned: false, last_error: null },
      ...{ body_hash: expect.any(String), headers: { "content-type": "application/json" } },
      ...{ received_at: time, recorded_at: time, started_at: time, processed_at: time },
    });
    expect(await readdir(folder)).toHaveLength(1);
    expect(notices.map(({ kind }) => kind)).toEqual([...["moved", "archived", "dropped"]]);
  });

  test("of more than a page, of events of one moment, misses none", async () => {
    const { day } = await it.partition(0);
    await it.ask(
      `WITH made AS (
         INSERT INTO millrace.events (received_at, body_id, unsigned, source, event_id, type,
           generation, body_hash)
         SELECT now(), nextval('millrace.body_id'), false, 'shop', 'many-' || n, 't', 0, ''
         FROM generate_series(1, 1200) n RETURNING body_id, body_day
       )
       INSERT INTO millrace.bodies SELECT body_day, body_id, '{}', '1' FROM made`,
    );
    await it.makeDay(40);
    await it.ask(
      `BEGIN; SET LOCAL session_replication_role = replica;
       UPDATE millrace.bodies SET day = day - 40 WHERE day = '${day}';
       UPDATE millrace.events SET body_day = body_day - 40, status = 'completed',
         outcome = 'handled', recorded_at = recorded_at - interval '960 hours',
         processed_at = recorded_at - interval '960 hours'; COMMIT`,
    );
    const file = await fileOf(40);
    await run();
    expect(new Set((await linesOf(file)).map(({ event_id }) => event_id)).size).toBe(1_200);
  });

  test("of a day without an event is not written", async () => {
    await it.makeDay(40);
    expect(await run()).toMatchObject({ dropped: [expect.any(String)] });
    expect(await readdir(folder)).toEqual([]);
  });

  test("is not written again when it is there and whole", async () => {
    await it.event("completed", 40);
    const file = await fileOf(40);
    Reflect.set(globalThis, HOOK, (step: string) => {
      if (step === "retention.archived") throw new Error("died");
    });
    await expect(run()).rejects.toThrow("died");
    const first = await readFile(file);
    expect(await it.partition(40)).toMatchObject({ state: "attached" });
    Reflect.deleteProperty(globalThis, HOOK);
    await utimes(file, 1, 1);
    notices = [];
    expect(await run()).toMatchObject({ dropped: [expect.any(String)] });
    expect(notices).toMatchObject([{ kind: "archived", events: 0, file }, { kind: "dropped" }]);
    expect(await readFile(file)).toEqual(first);
  });
});

describe("A day that cannot be archived is kept, and the error says why, when", () => {
  async function refused(with_ = policy): Promise<unknown> {
    const error: unknown = await run(with_).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "archive_failed" });
    return error;
  }

  test("there is no such folder, due or not", async () => {
    const nowhere = { ...policy, archiveDir: join(folder, "none") };
    expect(String(await refused(nowhere))).toMatch(/there is no folder ".*none"/);
    await writeFile(join(folder, "none"), "");
    await refused(nowhere);
  });

  test("the folder takes no files", async () => {
    const key = await it.event("completed", 40);
    // Not even root may write there.
    await refused({ ...policy, archiveDir: "/proc" });
    expect(await it.bodyOf(key)).toBeDefined();
  });

  test("a file of the name has another number of events", async () => {
    const key = await it.event("completed", 40);
    const file = await fileOf(40);
    await writeFile(file, gzipSync("{}\n{}\n"));
    expect(String(await refused())).toMatch(/has 2 events and the ledger 1/);
    expect(await it.bodyOf(key)).toBeDefined();
    expect(gunzipSync(await readFile(file)).toString()).toBe("{}\n{}\n");
  });

  test("a file of the name is damaged, or none", async () => {
    const key = await it.event("completed", 40);
    const file = await fileOf(40);
    await writeFile(file, gzipSync("{}\n".repeat(10_000)).subarray(0, 30));
    expect(String(await refused())).toMatch(/cannot be read back/);
    await rm(file);
    await mkdir(file);
    await refused();
    expect(await it.bodyOf(key)).toBeDefined();
  });

  test("an event of it disappears while it is written", async () => {
    const key = await it.event("completed", 40);
    const lying = { ...it.retention, countEventsOf: () => Promise.resolve(2) };
    await expect(run(policy, lying)).rejects.toMatchObject({ code: "archive_failed" });
    expect(await it.bodyOf(key)).toBeDefined();
    expect(await readdir(folder)).toEqual([]);
  });
});

test("An archive that dies half-way leaves nothing behind, and is written anew", async () => {
  await it.event("completed", 40);
  const file = await fileOf(40);
  const dying = {
    ...it.retention,
    archivePages: async function* (partition: Parameters<typeof it.retention.archivePages>[0]) {
      yield* it.retention.archivePages(partition);
      throw Object.assign(new Error("gone"), { code: "database_unavailable" });
    },
  };
  await expect(run(policy, dying)).rejects.toMatchObject({ code: "database_unavailable" });
  expect(await readdir(folder)).toEqual([]);
  await writeFile(`${file}.killed.part`, "half of it");
  await writeFile(`${file}.another.part`, "half of it");
  await utimes(`${file}.killed.part`, 1, 1);
  await run();
  expect(await linesOf(file)).toHaveLength(1);
  expect(
    (await readdir(folder)).map((name) => name.slice(file.length - folder.length - 1)),
  ).toEqual(["", ".another.part"]);
});
