import { describe, expect, it } from "vitest";
import { COMPLETED, event } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";
import { RETRY, type QueueFixture } from "./queue-fixture.ts";

const FAILED = { kind: "failed", code: "handler_failed", message: "broken" } as const;

export function queueComparing(fixture: QueueFixture): void {
  const { work, untilState } = fixture;

  describe("comparing", () => {
    it("sees of many jobs of several sources how each stands, in order", async () => {
      const odd = event("an id | of its own");
      const other = event("evt_1", { source: "other" });
      await fixture.queues.enqueue([
        event("evt_done"),
        event("evt_failed"),
        event("evt_later"),
        odd,
      ]);
      const { runs } = work(({ event: { eventId } }) => {
        if (eventId === "evt_failed") return { ...FAILED, recorded: false };
        return eventId === "evt_later" ? RETRY : COMPLETED;
      });
      await untilState("evt_done", "completed");
      await untilState("evt_failed", "failed");
      await untilState("evt_later", "delayed");
      await untilState(odd.eventId, "completed");
      await fixture.queues.pause("other");
      await fixture.queues.enqueue([other]);

      const keys = ["evt_failed", "evt_none", "evt_done", "evt_later"].map((id) => event(id));
      const seen = await fixture.queues.jobStatuses([...keys, other, odd]);
      expect(seen.map((job) => job?.state)).toEqual([
        ...["failed", undefined, "completed", "live"],
        ...["live", "completed"],
      ]);
      const run = runs.find((job) => job.event.eventId === "evt_failed")?.run;
      expect(seen[0]).toMatchObject({ run, failedReason: "handler_failed: broken" });
    });

    it("gives the jobs that have ended since a time, page by page, without their bodies", async () => {
      const ids = Array.from({ length: 123 }, (_, index) => `evt_${index}`);
      await fixture.queues.enqueue(ids.map((id) => event(id)));
      work(() => ({ ...FAILED, recorded: false }), { concurrency: () => 100 });
      const failed = async () => (await fixture.queues.counts()).get("acme")?.failed;
      await until(async () => (await failed()) === ids.length);

      const pages = [await fixture.queues.finishedJobs("acme", "failed", undefined, 50)];
      for (let next = pages[0]?.next; next !== undefined; next = pages.at(-1)?.next) {
        pages.push(await fixture.queues.finishedJobs("acme", "failed", next, 50));
      }
      expect(pages.map(({ jobs }) => jobs.length)).toEqual([50, 50, 23]);
      const jobs = pages.flatMap((page) => page.jobs);
      expect(jobs.map((job) => job.event?.eventId ?? "").toSorted()).toEqual(ids.toSorted());
      expect(jobs[0]?.event).toMatchObject({ ...event(jobs[0]?.jobId ?? ""), ...NOTHING_CARRIED });

      const last = jobs.at(-1)?.finishedAtMs ?? 0;
      const { jobs: since } = await fixture.queues.finishedJobs("acme", "failed", {
        atMs: last,
        skip: 0,
      });
      expect(since.every(({ finishedAtMs }) => finishedAtMs >= last)).toBe(true);
      expect(since.length).toBeGreaterThan(0);
      expect((await fixture.queues.finishedJobs("acme", "completed")).jobs).toEqual([]);
    });

    it("takes a job that Millrace did not write for nobody's event", async () => {
      const queue = fixture.queues.queues.get("acme");
      await queue?.add("text", "no envelope", { jobId: "evt_text_1" });
      await queue?.add("stranger", { v: 1 }, { jobId: "evt_stranger_1" });
      work(() => COMPLETED);
      await untilState("evt_text_1", "failed");
      await untilState("evt_stranger_1", "failed");
      const { jobs } = await fixture.queues.finishedJobs("acme", "failed");
      expect(jobs.map((job) => job.jobId).toSorted()).toEqual(["evt_stranger_1", "evt_text_1"]);
      expect(jobs.map((job) => job.event)).toEqual([undefined, undefined]);
    });

    it("knows a queue again by what was left in it, until the queue is obliterated", async () => {
      const epoch = async () => (await fixture.queues.epochs(["acme"])).get("acme");
      expect(await fixture.queues.epochs(["acme", "other"])).toEqual(
        new Map([
          ["acme", undefined],
          ["other", undefined],
        ]),
      );
      await fixture.queues.writeEpoch("acme", "first");
      const first = await epoch();
      expect(first).toMatch(/^first/);
      expect(await epoch()).toBe(first);
      await fixture.queues.enqueue([event("evt_1")]);
      await fixture.queues.pause("acme");
      await fixture.queues.resume("acme");
      expect(await epoch()).toBe(first);
      await fixture.queues.writeEpoch("acme", "second");
      expect(await epoch()).toMatch(/^second/);
      await fixture.queues.queues.get("acme")?.obliterate({ force: true });
      expect(await epoch()).toBeUndefined();
    });
  });
}

const NOTHING_CARRIED = {
  acceptedAtMs: expect.any(Number) as number,
  headers: {},
  body: undefined,
};
