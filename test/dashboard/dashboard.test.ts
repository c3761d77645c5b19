import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { until } from "../support/until.ts";
import { useDashboard } from "./dashboard-fixture.ts";

onOneBackend("the dashboard", (prepare, backend) => {
  const dashboard = useDashboard(prepare);

  const board = "/queues/api/queues/millrace-acme";

  test("a failed event completes after a retry through bull-board's own route", async () => {
    await dashboard.fail("evt_board_1");
    const retried = await dashboard.send("PUT", `${board}/evt_board_1/retry`);
    expect(retried.status).toBe(204);
    expect(await dashboard.runUntilCompleted("evt_board_1")).toEqual(["evt_board_1"]);
    expect(await dashboard.row("evt_board_1")).toMatchObject({ attempts: 2 });
    expect((await dashboard.send("PUT", `${board}/evt_board_1/retry`)).status).toBe(409);
  });

  test("queues that cannot know their workers do not claim to have none", async () => {
    const { json } = await dashboard.get("/queues/api/queues");
    expect(json.queues[0].hasWorkers).toBe(backend === "redis" ? false : null);
  });

  test("a page of another name or origin reads and writes nothing", async () => {
    const rebound = { headers: { host: `evil.example:${dashboard.port}` } };
    for (const path of [
      "/",
      "/queues",
      "/queues/api/queues",
      "/api/events",
      "/api/stats",
      "/metrics",
    ]) {
      const answer = await dashboard.send("GET", path, rebound);
      expect([path, answer.status, answer.json.error.code]).toEqual([path, 403, "forbidden"]);
    }
    const pause = `${board}/pause`;
    const retry = "/api/events/acme/evt_board_1/retry";
    const form = { "content-type": "application/x-www-form-urlencoded" };
    for (const [method, path] of [
      ["PUT", pause],
      ["POST", retry],
      ["POST", "/api/sources/acme/pause"],
    ] as const) {
      const foreign = { headers: { origin: "http://evil.example" } };
      expect((await dashboard.send(method, path, foreign)).status).toBe(403);
      const site = { headers: { "sec-fetch-site": "cross-site" } };
      expect((await dashboard.send(method, path, site)).status).toBe(403);
      expect((await dashboard.send(method, path, { headers: form, body: "a=1" })).status).toBe(415);
    }
    expect(await dashboard.queues.queues.get("acme")?.isPaused()).toBe(false);
    const own = { headers: { origin: `http://127.0.0.1:${dashboard.port}` } };
    expect((await dashboard.send("PUT", `${board}/resume`, own)).status).toBe(200);
  });

  test("every answer forbids frames, guesses of its type, and caches", async () => {
    for (const path of [
      "/",
      "/event",
      "/queues",
      "/queues/api/queues",
      "/api/events",
      "/no",
      "/healthz",
    ]) {
      const { headers } = await dashboard.get(path);
      expect(headers).toMatchObject({
        "content-security-policy": expect.stringContaining("frame-ancestors 'none'"),
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
      });
      expect(headers["content-security-policy"]).not.toMatch(/script-src[^;]*unsafe/);
      expect(headers).not.toHaveProperty("x-powered-by");
      expect([path, headers["cache-control"]]).toEqual([path, "no-store"]);
    }
  });

  test("the page is a document without a script of its own, and files kept for ever", async () => {
    const page = await dashboard.get("/");
    expect(page.headers["content-type"]).toContain("text/html");
    expect(page.text).not.toMatch(/<script(?![^>]* src=)|<style|style=|https?:\/\//i);
    for (const path of ["/event?source=acme&id=a", "/audit"]) {
      expect([path, (await dashboard.get(path)).text]).toEqual([path, page.text]);
    }
    const guessed = await dashboard.get("/events/acme/a%2Fb/2");
    expect(guessed.headers.location).toBe("/event?source=acme&id=a%2Fb&generation=2");
    const assets = [...page.text.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
    expect(assets).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/\.js$/),
        expect.stringMatching(/\.css$/),
        expect.stringMatching(/\.svg$/),
      ]),
    );
    for (const path of assets) {
      const { status, headers } = await dashboard.get(path);
      expect([path, status, headers["cache-control"]]).toEqual([
        path,
        200,
        "public, max-age=31536000, immutable",
      ]);
    }
    for (const path of ["/assets/", "/assets/none.js", "/assets/..%2findex.html"]) {
      expect([path, (await dashboard.get(path)).status]).toEqual([path, 404]);
    }
  });

  test("its health is told to anyone, and its numbers are counted", async () => {
    await dashboard.fail("evt_counted_1");
    const stranger = { headers: { host: "10.9.8.7:3001" } };
    expect((await dashboard.send("GET", "/healthz", stranger)).status).toBe(200);
    expect((await dashboard.send("GET", "/readyz", stranger)).json).toEqual({
      status: "ready",
      parts: { ledger: "ok", queue: "ok" },
    });
    const metrics = await until(async () => {
      const { text } = await dashboard.get("/metrics");
      return (
        /millrace_ledger_events\{source="acme",status="failed",[^}]*\} [1-9]/.test(text) && text
      );
    });
    expect(metrics).toMatch(/millrace_queue_jobs\{source="acme",state="completed",[^}]*\} \d/);
  });

  if (backend === "redis") {
    test("with the queue away the ledger is shown, and writes are refused for now", async () => {
      await dashboard.servers.redis?.kill();
      await until(async () => (await dashboard.get("/readyz")).status === 503);
      expect((await dashboard.get("/api/events")).status).toBe(200);
      const stats = await until(async () => {
        const { json } = await dashboard.get("/api/stats");
        return json.sources.acme.queued === null && json;
      });
      expect(stats.sources.acme.failed).toBeGreaterThan(0);
      expect((await dashboard.get("/")).status).toBe(200);
      for (const path of ["/api/events/acme/evt_none_1/retry", "/api/sources/acme/pause"]) {
        const answer = await dashboard.send("POST", path);
        expect([answer.status, answer.json.error.code]).toEqual([503, "unavailable"]);
        expect(answer.headers["retry-after"]).toBeDefined();
      }
      const read = await dashboard.get("/queues/api/queues");
      expect([read.status, read.json.error.code]).toEqual([500, "internal"]);
      await dashboard.servers.redis?.restart();
      await until(async () => (await dashboard.get("/readyz")).status === 200);
    });
  }
});
