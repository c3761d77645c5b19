import { describe, expect, it } from "vitest";
import { event } from "../support/queue-fixture.ts";
import { RETRY, type QueueFixture } from "./queue-fixture.ts";

export function queueEnqueuing(fixture: QueueFixture): void {
  const { work, untilState } = fixture;
  const another = Buffer.from('{"another":"body"}');
  const enqueue = (...events: readonly ReturnType<typeof event>[]) =>
    fixture.queues.enqueue(events);

  describe("an event with a delay", () => {
    const later = (events: readonly ReturnType<typeof event>[], delaysMs: readonly number[]) =>
      fixture.queues.enqueue(events, { identityOnly: true, exact: true, delaysMs });

    it("waits for its time, beside others that do not", async () => {
      const events = ["evt_1", "evt_2", "evt_3"].map((id) => event(id));
      expect(await later(events, [3_600_000, 0, 0.5])).toEqual([
        "accepted",
        "accepted",
        "accepted",
      ]);
      expect(await fixture.stateOf("evt_1")).toBe("delayed");
      expect(await fixture.stateOf("evt_2")).toBe("waiting");
      const { runs } = work(() => ({ kind: "completed", outcome: "handled" }));
      await untilState("evt_2", "completed");
      await untilState("evt_3", "completed");
      expect(runs.map((job) => job.event.eventId).toSorted()).toEqual(["evt_2", "evt_3"]);
      expect(await fixture.stateOf("evt_1")).toBe("delayed");
    });

    it("is a duplicate of a job that the queue has, which keeps its time", async () => {
      expect(await later([event("evt_1"), event("evt_2")], [0, 3_600_000])).toEqual([
        "accepted",
        "accepted",
      ]);
      expect(await later([event("evt_1"), event("evt_2")], [3_600_000, 3_600_000])).toEqual([
        "duplicate",
        "duplicate",
      ]);
      expect(await later([event("evt_2")], [0])).toEqual(["duplicate"]);
      expect(await fixture.stateOf("evt_1")).toBe("waiting");
      expect(await fixture.stateOf("evt_2")).toBe("delayed");
    });

    it("is called failed when its job has failed", async () => {
      await enqueue(event("evt_1"));
      work(() => ({ kind: "failed", code: "handler_failed", message: "", recorded: true }));
      await untilState("evt_1", "failed");
      expect(await later([event("evt_1")], [3_600_000])).toEqual(["failed"]);
    });
  });

  describe("an event that is enqueued again", () => {
    const failFirst = async (recorded: boolean) => {
      work(({ event: { eventId } }) =>
        eventId === "evt_1"
          ? { kind: "failed", code: "handler_failed", message: "", recorded }
          : { ...RETRY, recorded: true },
      );
      await untilState("evt_1", "failed");
      await untilState("evt_2", "delayed");
    };

    it("is called failed when its job has failed for good, and stays so", async () => {
      expect(await enqueue(event("evt_1"), event("evt_2"))).toEqual(["accepted", "accepted"]);
      await failFirst(false);
      expect(await enqueue(event("evt_1"), event("evt_2"), event("evt_3"))).toEqual([
        "failed",
        "duplicate",
        "accepted",
      ]);
      expect(await fixture.stateOf("evt_1")).toBe("failed");
    });

    it("conflicts when it has another body, failed or not, and the first is kept", async () => {
      await enqueue(event("evt_1"), event("evt_2"));
      await failFirst(true);
      const changed = [event("evt_1", { body: another }), event("evt_2", { body: another })];
      expect(await enqueue(...changed)).toEqual(["conflict", "conflict"]);
      expect((await fixture.queues.findJob(event("evt_2")))?.event).toMatchObject({
        bodyHash: event("evt_2").bodyHash,
      });
    });

    it("conflicts with its namesake of the same call", async () => {
      const answers = await enqueue(
        event("evt_1"),
        event("evt_1", { body: another }),
        event("evt_1"),
        event("evt_1", { body: another }),
        event("evt_2"),
      );
      expect(answers).toEqual(["accepted", "conflict", "duplicate", "conflict", "accepted"]);
      expect((await fixture.queues.findJob(event("evt_1")))?.event).toMatchObject({
        bodyHash: event("evt_1").bodyHash,
      });
    });

    it("is identified by the hash of its envelope, whatever its type and body say", async () => {
      const sly = event("evt_1", {
        type: '","body_hash":"fake"',
        body: Buffer.from('{"body_hash":"fake","a":"\\"body_hash\\":\\"fake\\""}'),
      });
      expect(await enqueue(sly)).toEqual(["accepted"]);
      expect(await enqueue(sly)).toEqual(["duplicate"]);
      expect(await enqueue({ ...sly, body: another, bodyHash: event("x").bodyHash })).toEqual([
        "conflict",
      ]);
    });

    it("is a duplicate of a job that was edited into something without a hash", async () => {
      await enqueue(event("evt_1"));
      const job = await fixture.queues.queues.get("acme")?.getJob("evt_1");
      await job?.updateData({ edited: true });
      expect(await enqueue(event("evt_1", { body: another }))).toEqual(["duplicate"]);
    });

    it("is looked at no closer when its identity alone is asked for", async () => {
      await enqueue(event("evt_1"));
      work(() => ({ kind: "failed", code: "handler_failed", message: "" }));
      await untilState("evt_1", "failed");
      const answers = await fixture.queues.enqueue([event("evt_1", { body: another })], {
        identityOnly: true,
      });
      expect(answers).toEqual([fixture.queues.backend === "redis" ? "duplicate" : "accepted"]);
      expect(await fixture.stateOf("evt_1")).toBe("failed");
    });
  });
}
