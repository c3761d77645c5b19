import { beforeAll, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { useDashboard } from "./dashboard-fixture.ts";

const ODD_ID = "shop.example|orders/créé|100% & more?#\\";

onOneBackend("the dashboard's API", (prepare, backend) => {
  const dashboard = useDashboard(prepare);

  beforeAll(async () => {
    await dashboard.take("evt_ok_1", { type: "order.paid" });
    await dashboard.take("evt_ok_2", { source: "patient", type: "order.paid" });
    await dashboard.complete("evt_ok_1", "evt_ok_2");
    await dashboard.fail("evt_bad_1", { type: "order.shipped" });
    await dashboard.fail(ODD_ID, { type: "odd" });
  });

  const path = (eventId: string, source = "acme") =>
    `/api/events/${source}/${encodeURIComponent(eventId)}`;
  const ids = async (query: string) => {
    const answer = await dashboard.get(`/api/events${query}`);
    expect(answer.status).toBe(200);
    return answer.json.events.map((row: { event_id: string }) => row.event_id);
  };

  test("lists events newest first, with the columns of the view in snake case", async () => {
    const { json } = await dashboard.get("/api/events");
    expect(json.next).toBeNull();
    expect(json.events.map((row: { event_id: string }) => row.event_id).slice(0, 2)).toEqual([
      ODD_ID,
      "evt_bad_1",
    ]);
    expect(json.events[1]).toMatchObject({
      source: "acme",
      event_id: "evt_bad_1",
      generation: 0,
      type: "order.shipped",
      status: "failed",
      outcome: null,
      attempts: 1,
      last_error: expect.stringContaining("the switch is off"),
      last_error_code: "handler_failed",
      received_at: expect.stringMatching(/^\d{4}-.*Z$/),
      processed_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(json.events[1]).not.toHaveProperty("payload");
  });

  test("filters by source, type, status, outcome, id or its beginning, and time", async () => {
    expect(await ids("?source=patient")).toEqual(["evt_ok_2"]);
    expect(await ids("?type=order.shipped")).toEqual(["evt_bad_1"]);
    expect(await ids("?status=failed")).toEqual([ODD_ID, "evt_bad_1"]);
    expect((await ids("?outcome=handled")).toSorted()).toEqual(["evt_ok_1", "evt_ok_2"]);
    expect(await ids("?q=evt_bad_1")).toEqual(["evt_bad_1"]);
    expect((await ids("?q=evt_ok&source=acme")).toSorted()).toEqual(["evt_ok_1"]);
    expect(await ids(`?q=${encodeURIComponent("shop.example|orders/créé")}`)).toEqual([ODD_ID]);
    expect(await ids("?q=_vt")).toEqual([]);
    expect(await ids("?since=2999-01-01T00:00:00Z")).toEqual([]);
    expect(await ids("?until=2001-01-01T00:00:00Z")).toEqual([]);
    expect(await ids("?until=2999-01-01T00:00:00%2B02:00")).toHaveLength(4);
  });

  test.each([
    "?since=0000-01-01T00:00:00Z",
    `?cursor=${Buffer.from('["9999-99-99 99:99:99","a","b",0]').toString("base64url")}`,
    `?cursor=${Buffer.from('["2026-01-01 00:00:00","a","\\ud800",0]').toString("base64url")}`,
    `?q=${encodeURIComponent("\u{10FFFF}")}`,
  ])("%s is no fault of ours", async (query) => {
    expect((await dashboard.get(`/api/events${query}`)).status).toBeLessThan(500);
  });

  test("shows one event with its payload, exact body, headers and attempts", async () => {
    const { status, json } = await dashboard.get(path("evt_bad_1"));
    expect(status).toBe(200);
    expect(json).toMatchObject({
      stage: "recorded",
      event_id: "evt_bad_1",
      status: "failed",
      payload: { id: "evt_bad_1" },
      body: '{"id":"evt_bad_1"}',
      body_encoding: "utf8",
      headers: { "x-topic": "things" },
      attempt_log: [
        {
          attempt: 1,
          code: "handler_failed",
          message: expect.stringContaining("the switch is off"),
          counted: true,
        },
      ],
    });
    expect((await dashboard.get(path(ODD_ID))).json.event_id).toBe(ODD_ID);
    expect((await dashboard.get(`${path("evt_bad_1")}?generation=0`)).status).toBe(200);
    expect((await dashboard.get(`${path("evt_bad_1")}?generation=1`)).status).toBe(404);
  });

  test("shows bytes that are no text as base64, and what is no JSON without a payload", async () => {
    const bytes = Buffer.from([0x22, 0xff, 0x00, 0x22]);
    await dashboard.fail("evt_bytes_1", { body: bytes });
    expect((await dashboard.get(path("evt_bytes_1"))).json).toMatchObject({
      payload: null,
      body: bytes.toString("base64"),
      body_encoding: "base64",
    });
    const text = '{"a":"\\u0000","a":1e400}';
    await dashboard.fail("evt_text_1", { body: Buffer.from(text) });
    expect((await dashboard.get(path("evt_text_1"))).json.body).toBe(text);
  });

  test.each([".", ".."])("an event whose id is %s, which clients take out, opens", async (id) => {
    await dashboard.take(id, { type: "order.paid" });
    await dashboard.complete(id);
    const at = (call: string, query = "") =>
      new URL(`http://h/api/events/acme/-${call}?event_id=${id}${query}`);
    const get = ({ pathname, search }: URL) => dashboard.get(pathname + search);
    expect((await get(at(""))).json).toMatchObject({ event_id: id, status: "completed" });
    expect((await get(at("/body", "&length=1"))).text).toBe("{");
    const { pathname, search } = at("/replay");
    expect((await dashboard.post(pathname + search, {})).json).toMatchObject({ generation: 1 });
  });

  test("an event that nobody has is not found, whatever its name", async () => {
    for (const [eventId, source] of [
      ["evt_none_1", "acme"],
      ["evt_none_1", "stranger"],
      ["evt_none_1", "__proto__"],
      ["meta", "acme"],
      ["a\0b", "acme"],
      ["x".repeat(3_000), "acme"],
    ]) {
      const answer = await dashboard.get(path(eventId ?? "", source));
      expect([eventId, answer.status, answer.json.error.code]).toEqual([
        eventId,
        404,
        "event_not_found",
      ]);
    }
    expect((await dashboard.get("/api/events/acme/%E0%A4%A")).status).toBe(400);
    expect((await dashboard.get("/api/events/acme/x?generation=-1")).status).toBe(400);
  });

  if (backend === "redis") {
    test("an event that no worker has seen is answered from the queue", async () => {
      await dashboard.take("evt_queued_1", { type: "order.new" });
      expect((await dashboard.get(path("evt_queued_1"))).json).toMatchObject({
        stage: "queued",
        source: "acme",
        event_id: "evt_queued_1",
        generation: 0,
        type: "order.new",
        status: null,
        job_state: "waiting",
        payload: { id: "evt_queued_1" },
        body: '{"id":"evt_queued_1"}',
        body_encoding: "utf8",
        attempt_log: [],
        deliveries: { total: 1, recent: [{ outcome: "accepted", ingress: null }] },
      });
      const { bytes } = await dashboard.get(`${path("evt_queued_1")}/body?offset=1&length=4`);
      expect(bytes.toString()).toBe('"id"');
      const retried = await dashboard.send("POST", `${path("evt_queued_1")}/retry`);
      expect([retried.status, retried.json.error.code]).toEqual([409, "not_failed"]);
    });
  }

  test("counts events by source and status, and the queue apart", async () => {
    const { json } = await dashboard.get("/api/stats");
    expect(json.sources.patient).toMatchObject({ pending: 0, completed: 1, failed: 0, queued: 0 });
    expect(json.sources.acme.failed).toBeGreaterThanOrEqual(2);
    expect(json.sources.acme.jobs.failed).toBe(json.sources.acme.failed);
  });

  test("shows an event whose body is no longer kept, and says so", async () => {
    await dashboard.pool.query(
      `DELETE FROM millrace.bodies b USING millrace.events e
       WHERE e.event_id = 'evt_ok_2' AND b.day = e.body_day AND b.id = e.body_id`,
    );
    const shown = await dashboard.get(path("evt_ok_2", "patient"));
    expect(shown.status).toBe(200);
    expect(shown.json).toMatchObject({
      ...{ status: "completed", payload: null, headers: {} },
      ...{ body: null, body_encoding: null, body_kept: false },
    });
    const filter = { source: "patient", status: "completed", dryRun: true };
    const many = await dashboard.post("/api/replay", filter);
    expect(many.json).toEqual({ replayed: 1, skipped: {}, dryRun: true });
  });

  test("other methods and other paths are refused in the same form", async () => {
    for (const [method, url, status, code] of [
      ["POST", "/api/events", 405, "method_not_allowed"],
      ["DELETE", path("evt_ok_1"), 405, "method_not_allowed"],
      ["GET", `${path("evt_ok_1")}/retry`, 405, "method_not_allowed"],
      ["GET", "/api/nothing", 404, "not_found"],
      ["GET", "/nothing", 404, "not_found"],
    ] as const) {
      const answer = await dashboard.send(method, url);
      expect([url, answer.status, answer.json.error.code]).toEqual([url, status, code]);
    }
  });

  test("a browser that asks for a path that is none gets the page, and a program an error", async () => {
    const headers = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    const page = await dashboard.send("GET", "/bogus", { headers });
    expect([page.status, page.headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"]);
    for (const under of ["/api/bogus", "/queues/bogus/bogus", "/metrics/bogus"]) {
      const answer = await dashboard.send("GET", under, { headers });
      expect([under, answer.status, answer.json?.error.code]).toEqual([under, 404, "not_found"]);
    }
  });
});
