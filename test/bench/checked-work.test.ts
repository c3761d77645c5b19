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

test("work that each event did once passes", async () => {
  await expect(checkWork(query, 3)).resolves.toBeUndefined();
  await expect(checkWork(query, 3, { counts: true })).resolves.toBeUndefined();
});

test("a doubled effect is reported, also where another one is lost", async () => {
  await query("INSERT INTO effects VALUES ('msg_1')");
  await expect(checkWork(query, 3)).rejects.toThrow("3 events left 4 effects of 3 events");
  await query("DELETE FROM effects WHERE event_id = 'msg_3'");
  await expect(checkWork(query, 3)).rejects.toThrow("3 events left 3 effects of 2 events");
});

test("a lost effect is reported", async () => {
  await query("DELETE FROM effects WHERE event_id = 'msg_3'");
  await expect(checkWork(query, 3)).rejects.toThrow("3 events left 2 effects of 2 events");
});

test("a row that counted an event twice is reported", async () => {
  await query("INSERT INTO counters VALUES (1)");
  await expect(checkWork(query, 3, { counts: true })).rejects.toThrow("and 4 counted");
});
