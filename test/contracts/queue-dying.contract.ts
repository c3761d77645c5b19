import type { EventJob, JobResult } from "@millrace/core";
import { jobId, queueName, type Queues } from "@millrace/queue";
import { describe, expect, it } from "vitest";
import { COMPLETED, dieWithJob, event, quickWorker, workOn } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";
import { untilAborted, type QueueFixture } from "./queue-fixture.ts";

export function queueDying(fixture: QueueFixture): void {
  const { work, stateOf, untilState, kinds } = fixture;

  describe("workers that die", () => {
    it("runs a killed worker's job again, within 30 seconds and under the same run", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      const run = await dieWithJob(fixture.server.url, "acme");
      const { runs } = work(() => COMPLETED);
      await until(async () => (await stateOf("evt_1")) === "completed", { withinMs: 30_000 });
      expect(runs).toMatchObject([{ run, startedBefore: true }]);
      expect(kinds()).toContain("stalled");
    });

    it("notifies of a job that was abandoned without a run, and runs it when it is retried", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      const run = await dieWithJob(fixture.server.url, "acme");
      await dieWithJob(fixture.server.url, "acme");
      const { runs, abandoned } = work(() => COMPLETED, {
        worker: quickWorker({ maxStalledCount: 1 }),
      });
      await until(() => abandoned.length === 1);
      expect(abandoned[0]).toMatchObject({ job: { event: { eventId: "evt_1" }, run } });
      expect(abandoned[0]?.reason).toMatch(/stalled/);
      expect(await stateOf("evt_1")).toBe("failed");
      expect(runs).toEqual([]);
      expect(kinds()).toContain("job_abandoned");

      expect(await fixture.queues.retryJob(event("evt_1"))).toBe("retried");
      await untilState("evt_1", "completed");
      expect(runs).toHaveLength(1);
      expect(runs[0]?.run).not.toBe(run);
    });

    it("gives a retried job its whole allowance of deaths again", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      await dieWithJob(fixture.server.url, "acme");
      await dieWithJob(fixture.server.url, "acme");
      const first = await fixture.server.open(["acme"], () => {});
      fixture.alsoClose(first);
      const early = workOn(first, () => COMPLETED, {
        worker: quickWorker({ maxStalledCount: 1 }),
        concurrency: () => 1,
      });
      await until(() => early.abandoned.length === 1);
      await early.workers.close({ timeoutMs: 0 });
      expect(await fixture.queues.retryJob(event("evt_1"))).toBe("retried");
      await dieWithJob(fixture.server.url, "acme");
      const { runs, abandoned } = work(() => COMPLETED, {
        worker: quickWorker({ maxStalledCount: 1 }),
      });
      await untilState("evt_1", "completed");
      expect(runs).toHaveLength(1);
      expect(abandoned).toEqual([]);
    });

    it("aborts the run of a job whose lock is lost", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      // The lock is renewed long before stalled jobs are looked for, which would abort the run too.
      const worker = quickWorker({ lockDurationMs: 2_000, stalledIntervalMs: 5_000 });
      const { runs } = work((job, turn) => (turn === 1 ? untilAborted(job) : COMPLETED), {
        worker,
      });
      await until(() => runs.length === 1);
      await fixture.server.stealLock(queueName("acme"), jobId("evt_1", 0));
      await until(() => runs[0]?.signal.aborted);
      expect(runs[0]?.signal.reason).toMatchObject({ code: "lost_claim" });
      expect(kinds()).toContain("lock_lost");
      await untilState("evt_1", "completed");
      expect(runs.at(-1)?.run).toBe(runs[0]?.run);
    });
  });

  describe("closing", () => {
    async function runOne(queues: Queues, run: (job: EventJob) => Promise<JobResult>) {
      await fixture.queues.enqueue([event("evt_1")]);
      const started = workOn(queues, run, { worker: quickWorker(), concurrency: () => 1 });
      await until(() => started.runs.length === 1);
      return started;
    }

    it("waits for the runs that are on, and takes no more", async () => {
      let finish = (_: JobResult) => {};
      const running = new Promise<JobResult>((resolve) => (finish = resolve));
      const { workers, runs } = await runOne(fixture.queues, () => running);
      const closing = workers.close({ timeoutMs: 20_000 });
      await fixture.queues.enqueue([event("evt_2")]);
      expect(workers.active).toBe(1);
      finish(COMPLETED);
      await closing;
      expect(await stateOf("evt_1")).toBe("completed");
      expect(await stateOf("evt_2")).toBe("waiting");
      expect(runs).toHaveLength(1);
      expect(runs[0]?.signal.aborted).toBe(false);
    });

    it("aborts the runs when its time is up, and their jobs come again", async () => {
      const { workers, runs } = await runOne(fixture.queues, untilAborted);
      await workers.close({ timeoutMs: 50 });
      expect(runs[0]?.signal.reason).toMatchObject({ code: "shutting_down" });
      expect(await stateOf("evt_1")).toBe("delayed");
    });

    it("does not wait for a run that ignores its signal, and another worker gets its job", async () => {
      const deaf = await fixture.server.open(["acme"], () => {});
      fixture.alsoClose(deaf);
      const { workers } = await runOne(deaf, () => new Promise(() => {}));
      const started = Date.now();
      await workers.close({ timeoutMs: 50 });
      expect(Date.now() - started).toBeLessThan(20_000);
      work(() => COMPLETED);
      await untilState("evt_1", "completed");
    });
  });
}
