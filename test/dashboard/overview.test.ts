import { countActivity } from "@millrace/ledger";
import { parseConfig } from "@millrace/core";
import { DISAGREEMENT_KINDS } from "@millrace/operations";
import { beforeAll, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { event } from "../support/queue-fixture.ts";
import { STORES_CONFIG } from "../support/stores-fixture.ts";
import { until } from "../support/until.ts";
import { useDashboard } from "./dashboard-fixture.ts";

onOneBackend("the dashboard's overviews", (prepare) => {
  const config = parseConfig({ ...STORES_CONFIG, reconciler: { graceMs: 0 } });
  const dashboard = useDashboard(prepare, { config });
  beforeAll(() => dashboard.fail("evt_bad_1"));

  test("the last hour is told minute by minute, of one source or of all", async () => {
    const day = await dashboard.get("/api/activity?range=24h&type=test.effect");
    expect([day.status, day.json]).toEqual([
      200,
      { bucket_seconds: 600, buckets: [], counted_until: null },
    ]);
    await countActivity(dashboard.pool);
    const { status, json } = await dashboard.get("/api/activity");
    expect([status, json.bucket_seconds, json.buckets.length]).toEqual([200, 60, 60]);
    const sum = (buckets: readonly Record<string, number>[], of: string) =>
      buckets.reduce((total, bucket) => total + (bucket[of] ?? 0), 0);
    expect(["recorded", "completed", "failed"].map((of) => sum(json.buckets, of))).toEqual([
      1, 0, 1,
    ]);
    const busy = json.buckets.find((bucket: { failed: number }) => bucket.failed > 0);
    expect(busy.p95_ms).toBeGreaterThan(0);
    const other = await dashboard.get("/api/activity?source=patient");
    expect(sum(other.json.buckets, "recorded")).toBe(0);
    for (const query of ["?source=", "?colour=red", "?source=a&source=b", "?range=2h"]) {
      const refused = await dashboard.get(`/api/activity${query}`);
      expect([query, refused.status, refused.json.error.code]).toEqual([
        ...[query, 400, "invalid_request"],
      ]);
    }
  });

  test("what ledger and queues disagree on is told by kind, with what will be done", async () => {
    const before = await dashboard.get("/api/disagreements");
    expect(before.status).toBe(200);
    expect(before.json.kinds.map(({ count }: { count: number }) => count)).toEqual(
      DISAGREEMENT_KINDS.map(() => 0),
    );
    await dashboard.ledger.intake.accept([event("evt_lost_1")]);
    const found = await until(async () => {
      const { json } = await dashboard.get("/api/disagreements");
      return json.pending_checked === 1 && json;
    });
    expect(found.kinds.filter(({ count }: { count: number }) => count > 0)).toEqual([
      {
        kind: "pending_without_job",
        count: 1,
        meaning: "In the ledger: pending; its job: none.",
        fix: "The job is added when its queue has capacity.",
        examples: [
          { source: "acme", event_id: "evt_lost_1", generation: 0, job_id: null, detail: null },
        ],
      },
    ]);
    expect(Date.parse(found.checked_at)).toBeGreaterThan(Date.parse(before.json.checked_at));
  });

  test("an event's generations are told newest first", async () => {
    await dashboard.send("POST", "/api/events/acme/evt_bad_1/replay");
    const { json } = await dashboard.get("/api/events/acme/evt_bad_1?generation=0");
    expect(json.generations).toMatchObject([
      { generation: 1, status: "pending", outcome: null, processed_at: null },
      { generation: 0, status: "failed", attempts: 1, recorded_at: expect.any(String) },
    ]);
  });
});
