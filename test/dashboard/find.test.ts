import { beforeAll, expect, test } from "vitest";
import { onPostgres } from "../support/backends.ts";
import { anEvent } from "../support/events.ts";
import {
  bearer,
  CREDENTIALS,
  OPERATOR_TOKEN,
  useDashboard,
  VIEWER_TOKEN,
} from "./dashboard-fixture.ts";

const dashboard = useDashboard(onPostgres, { credentials: CREDENTIALS });
const body = Buffer.from('{"data":{"customer":"cus_1","note":"to the attic"}}');
beforeAll(async () => {
  for (const eventId of ["evt_1", "evt_2"]) {
    await dashboard.ledger.intake.accept([anEvent({ source: "acme", eventId, body })]);
  }
  // The test's own ledger has no config.
  const text = "UPDATE millrace.events SET find = '{customer: cus_1}' WHERE event_id = 'evt_1'";
  await dashboard.pool.query(text);
});

const ask = (path: string, token = OPERATOR_TOKEN) =>
  dashboard.send("GET", `/api${path}`, { headers: bearer(token) });
const found = async (find: string, token = OPERATOR_TOKEN) => {
  const { status, json } = await ask(`/events?${new URLSearchParams({ find })}`, token);
  return status === 200
    ? json.events.map((event: { event_id: string }) => event.event_id)
    : json.error.message;
};
const reads = async () => (await ask("/audit?action=read_body")).json.entries;

test.each([
  ["customer:cus_1", ["evt_1"]],
  ["cus_1 source:acme", ["evt_1"]],
  ["source:acme type:order.* status:pending since:1h", ["evt_2", "evt_1"]],
  ["evt_2", ["evt_2"]],
  ["vt_2", ["evt_2"]],
  ["customer:cus_2", []],
  ['error:"no such text"', []],
  ["custmer:cus_1", expect.stringContaining("`custmer` is not among source,")],
  ["since:soon", expect.stringContaining("since: must be a time")],
  ["error:1-00 source:a", expect.stringContaining("1-00")],
])("%s", async (find, expected) => {
  expect(await found(find)).toEqual(expected);
});

test("a list shows no values, and an event shows them to who is in the audit as its reader", async () => {
  const { json } = await ask("/events", VIEWER_TOKEN);
  expect(JSON.stringify(json)).not.toContain("cus_1");
  expect(await reads()).toEqual([]);
  const { json: event } = await ask("/events/acme/evt_1?body=false", VIEWER_TOKEN);
  expect(event.find).toEqual(["customer: cus_1"]);
  expect(await reads()).toMatchObject([{ actor: "viewer", event_id: "evt_1" }]);
});

test("a search in bodies is in the audit, once for all of its pages, and is not counted", async () => {
  const find = 'body:"the attic"';
  expect(await found(find, VIEWER_TOKEN)).toEqual(["evt_2", "evt_1"]);
  expect(await found(find, VIEWER_TOKEN)).toEqual(["evt_2", "evt_1"]);
  const [entry, ...others] = await reads();
  expect(entry).toMatchObject({ actor: "viewer", event_id: null, result: { shown: true, find } });
  expect(others).toHaveLength(1);
  const counted = await ask(`/event-count?${new URLSearchParams({ find })}`);
  expect(counted.status).toBe(400);
  expect((await ask("/event-count?find=customer:cus_1")).json).toEqual({ count: 1, more: false });
});

test("a bulk run takes a search by values, and none that reads events one by one", async () => {
  const run = (find: string) =>
    dashboard.post("/api/give-up", { find, dryRun: true }, bearer(OPERATOR_TOKEN));
  expect((await run("customer:cus_1 since:1h")).json).toMatchObject({ given_up: 1 });
  for (const find of ["body:attic", "evt_1"]) {
    const { status, json } = await run(find);
    expect([status, json.error.message]).toEqual([400, expect.stringContaining("Cannot run")]);
  }
});
