import type { QueueNotice } from "@millrace/queue";
import { describe, expect, it } from "vitest";
import { COMPLETED, event, workOn } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";
import { RETRY, untilAborted, type QueueFixture } from "./queue-fixture.ts";

export function queueRunning(fixture: QueueFixture): void {
  const { work, stateOf, untilState } = fixture;

  describe("adding and running", () => {
    it("runs an event once, as it was given, and completes its job", async () => {
      expect(await fixture.queues.enqueue([event("evt_1")])).toEqual(["accepted"]);
      const { runs } = work(() => COMPLETED);
      await untilState("evt_1", "completed");
      expect(runs).toHaveLength(1);
      const { acceptedAtMs, ...same } = event("evt_1");
      expect(runs[0]?.event).toMatchObject(same);
      expect(runs[0]?.event.acceptedAtMs).toBeLessThanOrEqual(acceptedAtMs);
      expect(runs[0]?.enqueuedAtMs).toBeGreaterThan(Date.now() - 60_000);
    });

    it("runs an event once that is added twice, and calls the second a duplicate", async () => {
      expect(await fixture.queues.enqueue([event("evt_1")])).toEqual(["accepted"]);
      expect(
        await fixture.queues.enqueue([event("evt_1"), event("evt_2"), event("evt_2")]),
      ).toEqual(["duplicate", "accepted", "duplicate"]);
      const { runs } = work(() => COMPLETED);
      await untilState("evt_2", "completed");
      // Postgres is restored with its queue, so there is no need to tell that the job has completed.
      const known = fixture.queues.backend === "redis" ? "completed" : "duplicate";
      expect(await fixture.queues.enqueue([event("evt_1")])).toEqual([known]);
      expect(runs.map((job) => job.event.eventId)).toEqual(["evt_1", "evt_2"]);
    });

    it("tells the generations of an event, and its namesake of another source, apart", async () => {
      const events = [
        event("evt_1"),
        event("evt_1", { generation: 1 }),
        event("evt_1", { source: "other" }),
      ];
      expect(await fixture.queues.enqueue(events)).toEqual(["accepted", "accepted", "accepted"]);
      const { runs } = work(() => COMPLETED);
      await until(() => runs.length === 3);
      expect(
        runs.map(({ event: { source, generation } }) => `${source} ${generation}`).toSorted(),
      ).toEqual(["acme 0", "acme 1", "other 0"]);
    });

    it("runs every id once that has hurt BullMQ, and goes on", async () => {
      const { runs } = work(() => COMPLETED);
      const events = TROUBLESOME_IDS.map((id) => event(id));
      expect(await fixture.queues.enqueue(events)).toEqual(events.map(() => "accepted"));
      await until(() => runs.length >= events.length);
      await fixture.queues.enqueue([event("evt_last")]);
      await untilState("evt_last", "completed");
      expect(runs.map((job) => job.event.eventId).toSorted()).toEqual(
        [...TROUBLESOME_IDS, "evt_last"].toSorted(),
      );
      await until(
        async () => (await fixture.queues.counts()).get("acme")?.completed === runs.length,
      );
      expect(fixture.notices).toEqual([]);
    });

    it.each([
      ["U+0000 and escapes", Buffer.from('{"a":"\0","b":"\\u0000\\ud800"}')],
      ["bytes that are no UTF-8", Buffer.from([0x22, 0xff, 0x00, 0x22])],
    ])("keeps a body with %s byte for byte", async (_, body) => {
      expect(await fixture.queues.enqueue([event("evt_1", { body })])).toEqual(["accepted"]);
      const { runs } = work(() => COMPLETED);
      await until(() => runs.length === 1);
      expect(Buffer.from(runs[0]?.event.body ?? [])).toEqual(body);
    });

    it("leaves body and headers out of a job that carries an identity only", async () => {
      await fixture.queues.enqueue([event("evt_1")], { identityOnly: true });
      const found = await fixture.queues.findJob(event("evt_1"));
      expect(found?.event).toMatchObject({ eventId: "evt_1", body: undefined, headers: {} });
    });

    it("answers an event of an unknown source with an error, and takes the others", async () => {
      const answers = await fixture.queues.enqueue([
        event("evt_1", { source: "nobody" }),
        event("evt_2"),
      ]);
      expect(answers[0]).toMatchObject({ code: "unavailable" });
      expect(answers[1]).toBe("accepted");
    });

    it("lets a poison job fail alone, and adds its companions", async () => {
      const poison = event("evt_bad", { type: "broken\0type" });
      const answers = await fixture.queues.enqueue([event("evt_1"), poison, event("evt_2")]);
      expect([answers[0], answers[2]]).toEqual(["accepted", "accepted"]);
      // Redis stores what Postgres refuses.
      if (fixture.queues.backend === "postgres") expect(answers[1]).toBeInstanceOf(Error);
    });
  });

  describe("looking and steering", () => {
    it("counts jobs by source and state", async () => {
      const ids = ["evt_1", "evt_2", "evt_3", "evt_4"];
      await fixture.queues.enqueue(ids.map((id) => event(id)));
      expect((await fixture.queues.counts()).get("acme")).toMatchObject({
        waiting: 4,
        paused: false,
      });
      work((job) => {
        if (job.event.eventId === "evt_1") return COMPLETED;
        if (job.event.eventId === "evt_2")
          return { kind: "failed", code: "handler_failed", message: "" };
        if (job.event.eventId === "evt_3") return { ...RETRY, afterMs: 60_000 };
        return untilAborted(job);
      });
      await expect
        .poll(async () => (await fixture.queues.counts()).get("acme"), { timeout: 30_000 })
        .toEqual({
          ...{ waiting: 0, active: 1, delayed: 1, completed: 1, failed: 1 },
          ...{ removed: 0, paused: false },
        });
    });

    it("runs nothing of a paused source until it is resumed, and runs the others", async () => {
      const { runs } = work(() => COMPLETED);
      await fixture.queues.pause("acme");
      await fixture.queues.enqueue([event("evt_1"), event("evt_2", { source: "other" })]);
      await until(() => runs.length === 1);
      expect(runs[0]?.event.source).toBe("other");
      expect(await fixture.queues.enqueue([event("evt_1")])).toEqual(["duplicate"]);
      expect((await fixture.queues.counts()).get("acme")).toMatchObject({
        waiting: 1,
        paused: true,
      });
      expect(await stateOf("evt_1")).toBe("waiting");
      await fixture.queues.resume("acme");
      await untilState("evt_1", "completed");
    });
  });

  it("begins no more jobs of a source than its rate allows, by however many workers", async () => {
    const rate = (source: string) => (source === "acme" ? { max: 3, perMs: 3_600_000 } : undefined);
    const second = await fixture.server.open(["acme", "other"], () => undefined);
    fixture.alsoClose(second);
    const ids = Array.from({ length: 8 }, (_, index) => `evt_${index}`);
    await fixture.queues.enqueue(ids.flatMap((id) => [event(id), event(id, { source: "other" })]));
    const both = [fixture.queues, second].map((queues) =>
      workOn(queues, () => COMPLETED, { rate, concurrency: () => 1 }),
    );
    const runsOf = (source: string) =>
      both.flatMap(({ runs }) => runs).filter(({ event: ran }) => ran.source === source);
    await until(() => runsOf("other").length === 8);
    // From the third on the server itself says that no more may begin.
    const limited = fixture.queues.queues.get("acme");
    await until(async () => ((await limited?.getRateLimitTtl(3)) ?? 0) > 0);
    await until(async () => (await fixture.queues.counts()).get("acme")?.completed === 3);
    expect((await fixture.queues.counts()).get("acme")).toMatchObject({ waiting: 5, active: 0 });
    expect(runsOf("acme")).toHaveLength(3);
  });

  it("runs sixty sources in one process, on few connections", async () => {
    await fixture.queues.close();
    const notices: QueueNotice[] = [];
    const before = await fixture.server.connections();
    const sources = Array.from({ length: 60 }, (_, index) => `source-${index}`);
    const many = await fixture.server.open(sources, (notice) => notices.push(notice));
    fixture.alsoClose(many);
    await until(() => many.ping().then(() => true));
    const { runs } = workOn(many, () => COMPLETED, { concurrency: () => 5 });
    const ran = () =>
      new Set(runs.map(({ event: { source, eventId } }) => `${source} ${eventId}`)).size;
    const events = sources.flatMap((source) =>
      [1, 2, 3, 4].map((n) => event(`evt_${n}`, { source })),
    );
    for (let at = 0; at < events.length; at += 24) {
      const answers = await many.enqueue(events.slice(at, at + 24));
      expect(answers.filter((answer) => answer !== "accepted")).toEqual([]);
    }
    await until(() => ran() === 240);
    const taken = (await fixture.server.connections()) - before;
    expect(taken).toBeLessThanOrEqual(many.backend === "redis" ? 62 : 11);
    await many.close();
    await until(async () => (await fixture.server.connections()) <= before);
    expect(notices).toEqual([]);
  });
}

const TROUBLESOME_IDS = [
  ...["meta", "wait", "id", "events", "marker", "active", "delayed", "completed", "failed"],
  ...["stalled", "prioritized", "paused", "limiter", "pc", "repeat", "stalled-check", "de"],
  ...["waiting-children", "metrics:completed", "metrics:completed:data", "de:x:y"],
  ...["0", "5", "-5", "01", "1e5", " 1", "0:", "0:1", "0:x:y", "a:b", "a:b:c", "a:b:c:d", ":"],
  ...["h-x", "g1-evt_1", "true", "null", "[object Object]", "__proto__", "constructor", "toString"],
  ...["{x}", "*", "../x", "%2e%2e", "a\nb", "a\r\n", "'; --", '"', "\\", "😀", "é", "e\u{301}"],
  ...["\u{200B}", "\u{202E}rtl", "shop|topic|1", "x".repeat(1_024), "é".repeat(512)],
];
