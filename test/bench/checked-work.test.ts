import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { queryOnce } from "../support/query-once.ts";
import { scratchDatabase, type TestDatabase } from "../support/scratch-database.ts";

type Query = (text: string) => Promise<unknown[]>;

const script = new URL("work.mjs", import.meta.url).href;
const { checkWork } = (await import(script)) as {
  checkWork(query: Query, events: number, options?: { counts?: boolean }): Promise<void>;
};

let database: TestDatabase;
const query: Query = (text) => queryOnce(database.url, text);

beforeAll(async () => {
  database = await scratchDatabase();
  await query("CREATE TABLE effects (event_id text); CREATE TABLE counters (events integer)");
});
afterAll(() => database?.drop());

beforeEach(async () => {
  await query("TRUNCATE effects, counters");
  await query("INSERT INTO effects SELECT 'msg_' || n FROM generate_series(1, 3) n");
  await query("INSERT INTO counters VALUES (1), (2)");
});

test.each([
  ["each event's work once", "SELECT", undefined],
  ["a doubled effect", "INSERT INTO effects VALUES ('msg_1')", "left 4 effects of 3 events"],
  ["a lost effect", "DELETE FROM effects WHERE event_id = 'msg_3'", "left 2 effects of 2 events"],
  [
    "a doubled and a lost effect",
    "UPDATE effects SET event_id = 'msg_1' WHERE event_id = 'msg_3'",
    "left 3 effects of 2 events",
  ],
  ["an event that a row counted twice", "INSERT INTO counters VALUES (1)", "and 4 counted"],
])("of %s the bench says so", async (_title, change, message) => {
  await query(change);
  const check = checkWork(query, 3, { counts: true });
  if (message === undefined) await expect(check).resolves.toBeUndefined();
  else await expect(check).rejects.toThrow(message);
});
