import { startBulkRunner } from "@millrace/operations";
import { beforeAll, expect, test } from "vitest";
import { onPostgres } from "../support/backends.ts";
import { anEvent } from "../support/events.ts";
import { until } from "../support/until.ts";
import { useDashboard } from "./dashboard-fixture.ts";

const dashboard = useDashboard(onPostgres);
beforeAll(async () => {
  for (const n of [1, 2, 3, 4]) await dashboard.take(`evt_new_${n}`, { source: "patient" });
});

const path = (eventId: string, source = "acme") => `/api/events/${source}/${eventId}`;
const ids = async (query: string) => {
  const { json } = await dashboard.get(`/api/events${query}`);
  return json.events.map((event: { event_id: string }) => event.event_id);
};

test("gives the oldest first when asked to, page by page", async () => {
  const newestFirst = await ids("?source=patient");
  const { json } = await dashboard.get("/api/events?source=patient&order=asc&limit=3");
  const rest = await ids(`?source=patient&order=asc&cursor=${encodeURIComponent(json.next)}`);
  const oldestFirst = json.events.map((event: { event_id: string }) => event.event_id);
  expect([...oldestFirst, ...rest]).toEqual(newestFirst.toReversed());
});

test("shows 256 kB of a body of 20 MB, and gives all of its bytes, or some, as a download", async () => {
  const bytes = Buffer.alloc(20_000_000, "€");
  const large = { source: "acme", eventId: "evt_large_1" };
  await dashboard.ledger.intake.accept([anEvent({ ...large, body: bytes })]);
  const { json, bytes: answered } = await dashboard.get(path("evt_large_1"));
  expect(answered.byteLength).toBeLessThan(300_000);
  const { body, ...rest } = json;
  expect(rest).toMatchObject({
    ...{ payload: null, body_encoding: "utf8", body_kept: true },
    ...{ body_bytes: 20_000_000, body_truncated: true },
  });
  expect(body).toBe("€".repeat(Math.floor(262_144 / 3)));

  const light = await dashboard.get(`${path("evt_large_1")}?body=false`);
  expect(light.bytes.byteLength).toBeLessThan(2_000);
  expect(light.json).toMatchObject({ body: null, body_kept: true, body_bytes: 20_000_000 });

  const whole = await dashboard.get(`${path("evt_large_1")}/body`);
  expect(whole.bytes.equals(bytes)).toBe(true);
  expect(whole.headers).toMatchObject({
    "content-type": "application/octet-stream",
    "content-length": "20000000",
    "content-disposition": "attachment; filename=acme-evt_large_1.bin",
    "x-content-type-options": "nosniff",
  });
  for (const [range, part] of [
    ["offset=262143&length=5", bytes.subarray(262_143, 262_148)],
    ["offset=19999999", bytes.subarray(-1)],
    ["offset=0&length=2000000", bytes.subarray(0, 2_000_000)],
    ["offset=20000000", Buffer.alloc(0)],
    ["length=0", Buffer.alloc(0)],
  ] as const) {
    const { bytes: got } = await dashboard.get(`${path("evt_large_1")}/body?${range}`);
    expect([range, got.equals(part)]).toEqual([range, true]);
  }
  const head = await dashboard.send("HEAD", `${path("evt_large_1")}/body`);
  expect([head.headers["content-length"], head.bytes.byteLength]).toEqual(["20000000", 0]);
});

test("counts the events of a filter", async () => {
  const counted = async (query: string) => (await dashboard.get(`/api/event-count${query}`)).json;
  expect(await counted("?source=patient")).toEqual({ count: 4, more: false });
  expect(await counted("?source=patient&type=none")).toEqual({ count: 0, more: false });
  expect((await dashboard.get("/api/event-count?limit=1")).status).toBe(400);
});

test("retries the events that are named, and says of each what became of it", async () => {
  for (const id of ["evt_named_1", "evt_named_2"]) await dashboard.fail(id);
  await dashboard.take("evt_fresh_1");
  const named = (event_id: string, source = "acme") => ({ source, event_id, generation: 0 });
  const events = [
    named("evt_named_1"),
    named("evt_none_1"),
    named("evt_named_2"),
    named("evt_fresh_1"),
    named("evt_named_1", "stranger"),
  ];
  const { status, json } = await dashboard.post("/api/retry", { events, reason: "why" });
  const results = ["retried", "not_found", "retried", "not_failed", "unknown_source"];
  expect([status, json]).toEqual([
    200,
    {
      retried: 2,
      skipped: { not_found: 1, not_failed: 1, unknown_source: 1 },
      dryRun: false,
      events: events.map((event, place) => ({ ...event, result: results[place] })),
    },
  ]);
  expect((await dashboard.row("evt_named_1"))?.status).toBe("pending");
  const [entry] = (await dashboard.get("/api/audit?limit=1")).json.entries;
  expect(entry).toMatchObject({ action: "retry_many", reason: "why", result: { retried: 2 } });
  expect(entry.filter.events).toHaveLength(5);
});

test.each([
  { events: [] },
  { events: Array.from({ length: 501 }, () => ({ source: "a", event_id: "b", generation: 0 })) },
  { events: [{ source: "a", event_id: "b" }] },
  { events: [{ source: "a", event_id: "b", generation: 0 }], type: "order.paid" },
  { events: [{ source: "a", event_id: "b", generation: 0 }], all: true },
  { events: [{ source: "a", event_id: "b", generation: 0 }], dryRun: true },
])("a retry of named events is refused for what it cannot be", async (body) => {
  const { status, json } = await dashboard.post("/api/retry", body);
  expect([status, json.error.code]).toEqual([400, "invalid_request"]);
});

test("tells who ran an event again or gave it up, by itself or in a run, and its steps", async () => {
  for (const id of ["evt_told_1", "evt_told_2"]) await dashboard.fail(id);
  const { ledger, queues } = dashboard;
  const started = await dashboard.post("/api/retry", { q: "evt_told_1", reason: "all of them" });
  const run = started.json.run.id;
  const runner = startBulkRunner({ ledger, queues, leading: () => true, notify: () => {} });
  await until(async () => (await dashboard.row("evt_told_1"))?.status === "pending");
  await runner.close();
  const key = { source: "acme", eventId: "evt_told_1", generation: 0 };
  const attempt = (await dashboard.row("evt_told_1"))?.attempts ?? 0;
  const step = { name: "charge", result: '"secret"' };
  expect(await ledger.claims.recordStep(key, attempt, step)).toBe("recorded");
  await dashboard.post(`${path("evt_told_1")}/give-up?generation=0`, { reason: "no use" });
  await dashboard.get(`${path("evt_told_1")}/body`);
  const { json, text } = await dashboard.get(path("evt_told_1"));
  expect(json.acts).toMatchObject([
    { action: "retry_many", run, reason: "all of them", generation: 0 },
    { action: "give_up", run: null, reason: "no use", generation: 0 },
  ]);
  expect(json.steps).toEqual([{ at: expect.any(String), name: "charge", attempt }]);
  expect(text).not.toContain("secret");
  expect((await dashboard.get(path("evt_told_2"))).json).toMatchObject({ acts: [], steps: [] });
});
