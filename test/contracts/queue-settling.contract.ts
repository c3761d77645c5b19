import type { JobResult } from "@millrace/core";
import { describe, expect, it } from "vitest";
import { COMPLETED, event } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";
import { RETRY, type QueueFixture } from "./queue-fixture.ts";

export function queueSettling(fixture: QueueFixture): void {
  const { work, untilState, kinds } = fixture;

  describe("settling", () => {
    it("completes the job of a duplicate", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      work(() => ({ kind: "duplicate" }));
      await untilState("evt_1", "completed");
    });

    it("fails the job of a failed event for good, with its code and no more than it must show", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      const message = `it\0broke \ud800${"x".repeat(5_000)}`;
      const { runs, abandoned } = work(() => ({
        kind: "failed",
        code: "permanent_error",
        message,
      }));
      await untilState("evt_1", "failed");
      const found = await fixture.queues.findJob(event("evt_1"));
      expect(found?.failedReason).toMatch(/^permanent_error: it\u{FFFD}broke \u{FFFD}x+$/u);
      expect(found?.failedReason?.length).toBeLessThanOrEqual(1_000);
      expect(found?.finishedAtMs).toBeGreaterThan(0);
      const job = await fixture.queues.queues.get("acme")?.getJob("evt_1");
      expect(job?.stacktrace ?? []).toEqual([]);
      expect(runs).toHaveLength(1);
      expect(abandoned).toEqual([]);
    });

    it("runs a job again after the time that its settlement names, under the same run, for nobody retried it", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      const at: number[] = [];
      const { runs } = work((_, turn) => {
        at.push(Date.now());
        if (turn === 1) return { ...RETRY, afterMs: 400 };
        return turn === 2 ? { kind: "lost", afterMs: 0 } : COMPLETED;
      });
      await untilState("evt_1", "completed");
      expect(runs).toHaveLength(3);
      expect(new Set(runs.map((job) => job.run)).size).toBe(1);
      expect(runs.map((job) => job.startedBefore)).toEqual([false, true, true]);
      expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(395);
    });

    it("takes the body out of a job whose event is recorded, and only then", async () => {
      await fixture.queues.enqueue([event("evt_1"), event("evt_2"), event("evt_3")]);
      work((job) => {
        if (job.event.eventId === "evt_1") return { ...RETRY, recorded: true };
        if (job.event.eventId === "evt_2") return { ...RETRY, recorded: false };
        return { kind: "failed", code: "handler_failed", message: "", recorded: true };
      });
      await Promise.all([untilState("evt_1", "delayed"), untilState("evt_2", "delayed")]);
      await untilState("evt_3", "failed");
      const found = await Promise.all(
        ["evt_1", "evt_2", "evt_3"].map((id) => fixture.queues.findJob(event(id))),
      );
      expect(found.map((job) => job?.event?.body?.length)).toEqual([undefined, 14, undefined]);
      expect(found.map((job) => job?.event?.headers)).toEqual([{}, event("").headers, {}]);
    });

    it("tries a job again whose run threw, and says so", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      work(() => Promise.reject(new Error("a fault of ours")));
      await untilState("evt_1", "delayed");
      expect(fixture.notices).toMatchObject([
        { kind: "background_error", error: { message: "a fault of ours" } },
      ]);
    });
  });

  describe("keeping completed jobs", () => {
    it("counts those that completed and that it no longer has", async () => {
      const sinceMs = Date.now();
      const ids = ["evt_1", "evt_2", "evt_3", "evt_4", "evt_5"];
      await fixture.queues.enqueue(ids.map((id) => event(id)));
      work(({ event: { eventId } }) =>
        eventId === "evt_5" ? { kind: "failed", code: "handler_failed", message: "" } : COMPLETED,
      );
      for (const id of ids) await untilState(id, id === "evt_5" ? "failed" : "completed");
      expect(await fixture.queues.forgotten("acme", sinceMs)).toMatchObject({ count: 0 });
      for (const id of ids.slice(0, 3)) await fixture.queues.queues.get("acme")?.remove(id);
      const count = fixture.queues.backend === "redis" ? 3 : 0;
      expect(await fixture.queues.forgotten("acme", sinceMs)).toMatchObject({ count });
      expect(await fixture.queues.forgotten("acme", sinceMs + 120_000)).toMatchObject({ count: 0 });
    });
  });

  describe("retrying", () => {
    const FAILED: JobResult = { kind: "failed", code: "handler_failed", message: "no" };

    it("runs a failed job again under another run", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      // What a handler throws may look like the name of the run.
      const failed = { ...FAILED, message: "no [run 1.0]" };
      const { runs } = work((_, turn) => {
        if (turn === 1) return { kind: "lost", afterMs: 0 };
        return turn < 4 ? failed : COMPLETED;
      });
      await untilState("evt_1", "failed");
      expect(runs[1]?.run).toBe(runs[0]?.run);
      expect(await fixture.queues.retryJob(event("evt_1"))).toBe("retried");
      await until(() => runs.length === 3);
      await untilState("evt_1", "failed");
      await (await fixture.queues.queues.get("acme")?.getJob("evt_1"))?.retry("failed");
      await untilState("evt_1", "completed");
      expect(new Set(runs.map((job) => job.run)).size).toBe(3);
    });

    it("runs a completed job again on request, and retries nothing that has not failed", async () => {
      expect(await fixture.queues.retryJob(event("evt_1"))).toBe("not_found");
      expect(await fixture.queues.rerunJob(event("evt_1"))).toBe("not_found");
      await fixture.queues.enqueue([event("evt_1")]);
      expect(await fixture.queues.rerunJob(event("evt_1"))).toBe("not_completed");
      expect(await fixture.queues.retryJob(event("evt_1"))).toBe("not_failed");
      const { runs } = work(() => COMPLETED);
      await untilState("evt_1", "completed");
      expect(await fixture.queues.retryJob(event("evt_1"))).toBe("not_failed");
      const answers = await Promise.all([1, 2].map(() => fixture.queues.rerunJob(event("evt_1"))));
      expect(answers).toContain("retried");
      await until(() => runs.length > 1);
      await untilState("evt_1", "completed");
      expect(runs[1]?.run).not.toBe(runs[0]?.run);
      expect(runs[1]?.event).toEqual(runs[0]?.event);
    });

    it("lets one of two promotions or retries of the same job win", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      const { runs } = work((_, turn) => [RETRY, FAILED][turn - 1] ?? COMPLETED);
      await untilState("evt_1", "delayed");
      const both = await Promise.all([1, 2].map(() => fixture.queues.promoteJob(event("evt_1"))));
      expect(both.toSorted()).toEqual(["not_delayed", "retried"]);
      await untilState("evt_1", "failed");
      const answers = await Promise.all([1, 2].map(() => fixture.queues.retryJob(event("evt_1"))));
      expect(answers.toSorted()).toEqual(["not_failed", "retried"]);
      await untilState("evt_1", "completed");
      expect(runs).toHaveLength(3);
    });
  });

  describe("jobs that we did not write", () => {
    it("fails what is no envelope, or lies in the wrong queue, and runs the rest", async () => {
      const queue = fixture.queues.queues.get("acme");
      await fixture.queues.enqueue([event("evt_1"), event("evt_2", { source: "other" })]);
      const mine = (await queue?.getJob("evt_1"))?.data;
      const strange = (await fixture.queues.queues.get("other")?.getJob("evt_2"))?.data;
      await queue?.add("", {}, { jobId: "junk_1" });
      await queue?.add("junk", "a string");
      await queue?.add("copy", mine, { jobId: "copy_1" });
      await queue?.add("strange", strange, { jobId: "evt_2" });
      const { runs, abandoned } = work(() => COMPLETED);
      await until(async () => (await fixture.queues.counts()).get("acme")?.failed === 4);
      await fixture.queues.enqueue([event("evt_3")]);
      await untilState("evt_3", "completed");
      expect(runs.filter((job) => job.event.source === "acme")).toHaveLength(2);
      const failed = (await queue?.getFailed()) ?? [];
      for (const job of failed) expect(job.failedReason).toMatch(/^invalid_envelope: /);
      expect(kinds().filter((kind) => kind === "refused")).toHaveLength(4);
      expect(abandoned).toEqual([]);
    });

    it("retries by our policy a job of ours that was added by hand without one", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      const queue = fixture.queues.queues.get("acme");
      const job = await queue?.getJob("evt_1");
      await job?.remove();
      await queue?.add("by hand", job?.data, { jobId: "evt_1" });
      work((_, turn) => (turn < 3 ? { ...RETRY, afterMs: 1 } : COMPLETED));
      await untilState("evt_1", "completed");
    });

    it("leaves a later version's job for a later worker", async () => {
      const queue = fixture.queues.queues.get("acme");
      await queue?.add("later", { v: 99, id: "evt_1" }, { jobId: "evt_1" });
      const { runs } = work(() => COMPLETED);
      await untilState("evt_1", "delayed");
      expect(runs).toEqual([]);
      expect(fixture.notices).toMatchObject([
        { kind: "refused", code: "unknown_envelope_version" },
      ]);
    });
  });
}
