import { beforeAll, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import {
  bearer,
  CREDENTIALS,
  OPERATOR_TOKEN,
  OPS,
  type SendOptions,
  useDashboard,
} from "./dashboard-fixture.ts";

const JSON_TYPE = { "content-type": "application/json" };

onOneBackend("the dashboard's audit", (prepare) => {
  const dashboard = useDashboard(prepare, { credentials: CREDENTIALS });
  let cookie: string;
  beforeAll(async () => {
    cookie = await dashboard.signIn(OPS);
  });

  const write = (method: string, path: string, body?: object) => {
    const sent: SendOptions = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { cookie, ...(body === undefined ? {} : JSON_TYPE) };
    return dashboard.send(method, path, { headers, ...sent });
  };
  const audit = async (query = "") => {
    const { status, json } = await dashboard.send("GET", `/api/audit${query}`, {
      headers: { cookie },
    });
    expect(status).toBe(200);
    return json;
  };
  const last = async () => (await audit("?limit=1")).entries[0];
  const board = "/queues/api/queues/millrace-acme";

  test("has every write of the API, with its user and reason", async () => {
    await dashboard.fail("evt_api_1");
    const path = "/api/events/acme/evt_api_1";
    const by = { actor: "ops", role: "operator", via: "session", reason: "why" };
    const event = { source: "acme", event_id: "evt_api_1" };
    const reason = " why ";
    for (const [url, body, status, entry] of [
      [`${path}/retry?generation=0`, {}, 200, { action: "retry", ...event, generation: 0 }],
      [
        `${path}/replay`,
        {},
        409,
        { action: "replay", ...event, result: { skipped: "not_settled" } },
      ],
      ["/api/retry", { q: "none" }, 202, { action: "retry_many", filter: { q: "none" } }],
      ["/api/replay", { source: "acme", status: "completed" }, 202, { action: "replay_many" }],
      [
        "/api/runs/1",
        { rate: 5, state: "stopped" },
        200,
        { filter: { run: 1, rate: 5, state: "stopped" } },
      ],
      ["/api/sources/patient/pause", {}, 200, { action: "pause", source: "patient" }],
      ["/api/sources/patient/resume", {}, 200, { action: "resume", source: "patient" }],
      ["/api/sources/stranger/pause", {}, 404, { result: { error: "unknown_source" } }],
    ] as const) {
      const answer = await write("POST", url, { ...body, reason });
      expect([url, answer.status]).toEqual([url, status]);
      expect([url, await last()]).toMatchObject([url, { ...by, ...entry }]);
    }
  });

  test("has writes without a reason, and a program's under the name of its token", async () => {
    const headers = bearer(OPERATOR_TOKEN);
    await dashboard.send("POST", "/api/sources/acme/resume", { headers });
    expect(await last()).toMatchObject({
      ...{ actor: "deploy", role: "operator", via: "token", action: "resume", reason: null },
    });
  });

  test.each([
    { reason: "" },
    { reason: "  " },
    { reason: "x".repeat(501) },
    { reason: "a\0b" },
    { reason: 1 },
    { reasons: "why" },
  ])("a write with %j is refused, and does nothing", async (body) => {
    const before = await audit();
    for (const path of ["/api/sources/acme/pause", "/api/events/acme/evt_api_1/retry"]) {
      const refused = await write("POST", path, body);
      expect([path, refused.status, refused.json.error.code]).toEqual([
        ...[path, 400, "invalid_request"],
      ]);
    }
    expect((await write("POST", "/api/retry", { q: "none", ...body })).status).toBe(400);
    expect(await audit()).toEqual(before);
  });

  test("has nothing of a person who is on an error that is not open", async () => {
    await dashboard.fail("evt_owned_1");
    const [error] = (await dashboard.ledger.errors.find({ limit: 1 })).errors;
    const path = `/api/errors/${error?.fingerprint}`;
    await write("POST", path, { state: "ignored" });
    const before = await audit();
    for (const mine of [true, false]) {
      const { status, json } = await write("POST", path, { mine });
      expect([status, json.error.code]).toEqual([409, "error_not_open"]);
    }
    expect(await audit()).toEqual(before);
  });

  test("is filtered by action and actor", async () => {
    const { entries } = await audit("?action=retry&actor=ops");
    expect(entries).not.toEqual([]);
    for (const entry of entries) expect(entry).toMatchObject({ action: "retry", actor: "ops" });
    expect((await audit("?action=retry&actor=deploy")).entries).toEqual([]);
  });

  test("has every write of bull-board, under the name of who pressed the button", async () => {
    await dashboard.fail("evt_board_1");
    const by = { actor: "ops", role: "operator", via: "board", reason: null };
    for (const [path, status, entry] of [
      ["/evt_board_1/retry", 204, { action: "retry", event_id: "evt_board_1", generation: 0 }],
      ["/retry/failed", 200, { action: "retry_many", filter: { status: "failed" } }],
      ["/promote", 200, { action: "promote_many" }],
      ["/pause", 200, { action: "pause", result: { status: 200 } }],
      ["/resume", 200, { action: "resume" }],
    ] as const) {
      const answer = await write("PUT", board + path);
      expect([path, answer.status]).toEqual([path, status]);
      expect([path, await last()]).toMatchObject([path, { ...by, source: "acme", ...entry }]);
    }
    for (const verb of ["pause", "resume"]) {
      await write("PUT", `/queues/api/queues/${verb}`);
      expect(await last()).toMatchObject({ ...by, action: verb, source: null });
    }
  });

  test("has nothing of what was refused, looked at, or only tried out", async () => {
    const before = await audit();
    await write("PUT", `${board}/empty`);
    await write("PUT", `${board}/retry/completed`);
    await write("POST", "/api/retry", { q: "evt", dryRun: true });
    await dashboard.send("POST", "/api/sources/acme/pause");
    await dashboard.send("GET", "/api/events", { headers: { cookie } });
    expect(await audit()).toEqual(before);
  });
});
