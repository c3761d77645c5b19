import { describe, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { bearer, CREDENTIALS, OPS, useDashboard, VIEWER_TOKEN } from "./dashboard-fixture.ts";

onOneBackend("a dashboard that others reach", (prepare) => {
  describe.each([{ host: "0.0.0.0" }, { hosts: ["dash.example.com"] }])("%o", (how) => {
    const dashboard = useDashboard(prepare, { ...how, credentials: CREDENTIALS });

    test("serves nobody else, but for its health", async () => {
      const cookie = await dashboard.signIn(OPS);
      const session = await dashboard.send("GET", "/api/session", { headers: { cookie } });
      expect(session.json).toEqual({ user: OPS.user, role: "operator", via: "session" });
      for (const path of ["/queues", "/queues/api/queues", "/api/events"]) {
        const bare = await dashboard.get(path);
        expect([path, bare.status, bare.json.error.code]).toEqual([path, 401, "unauthorized"]);
        for (const headers of [{ cookie }, bearer(VIEWER_TOKEN)]) {
          const known = await dashboard.send("GET", path, { headers });
          expect([path, known.status]).toEqual([path, 200]);
        }
      }
      for (const path of ["/metrics", "/METRICS/"]) {
        const ask = async (headers: Record<string, string>) =>
          (await dashboard.send("GET", path, { headers })).status;
        expect([await ask({}), await ask({ cookie }), await ask(bearer(VIEWER_TOKEN))]).toEqual([
          ...[401, 403, 200],
        ]);
      }
      // The page holds no data: it is how one signs in.
      expect((await dashboard.get("/")).status).toBe(200);
      expect((await dashboard.send("PUT", "/queues/api/queues/pause")).status).toBe(401);
      expect((await dashboard.get("/healthz")).status).toBe(200);
      const ready = await dashboard.get("/readyz");
      expect([ready.status, ready.json]).toEqual([200, { status: "ready" }]);
    });

    test("lets a viewer write nothing, through the API or bull-board", async () => {
      const headers = bearer(VIEWER_TOKEN);
      for (const [method, path] of [
        ["POST", "/api/sources/acme/pause"],
        ["POST", "/api/retry"],
        ["POST", "/api/events/acme/evt_1/replay"],
        ["PUT", "/queues/api/queues/pause"],
        ["PUT", "/queues/api/queues/millrace-acme/pause"],
        ["PUT", "/QUEUES//api/queues/millrace-acme/pause"],
      ] as const) {
        const refused = await dashboard.send(method, path, { headers });
        expect([path, refused.status, refused.json.error.code]).toEqual([path, 403, "forbidden"]);
      }
      expect(await dashboard.queues.queues.get("acme")?.isPaused()).toBe(false);
    });
  });
});
