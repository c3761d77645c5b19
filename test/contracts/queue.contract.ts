import { describe, expect, it } from "vitest";
import { queueComparing } from "./queue-comparing.contract.ts";
import { queueDying } from "./queue-dying.contract.ts";
import { queueEnqueuing } from "./queue-enqueuing.contract.ts";
import { queueRunning } from "./queue-running.contract.ts";
import { queueSettling } from "./queue-settling.contract.ts";
import { useQueueFixture, type QueueServer, RETRY, type QueueFixture } from "./queue-fixture.ts";
import { event } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";

export const enqueueTimeoutMs = 20_000;

export function queueContract(prepare: () => Promise<QueueServer>): void {
  const fixture = useQueueFixture(prepare);
  queueRunning(fixture);
  queueEnqueuing(fixture);
  queueSettling(fixture);
  queueDying(fixture);
  queuePressure(fixture);
  queueComparing(fixture);
}

function queuePressure(fixture: QueueFixture): void {
  const { work, untilState } = fixture;

  describe("the pressure", () => {
    it("is nothing before the first look, and then what waits in each queue", async () => {
      await fixture.queues.enqueue([event("evt_1"), event("evt_2"), event("evt_3")]);
      const pressure = fixture.queues.pressure();
      expect(pressure.of("acme")).toEqual({ depth: 0, oldestAgeMs: undefined });
      await until(() => pressure.of("acme").depth === 3);
      expect(pressure.of("acme").oldestAgeMs).toBeGreaterThanOrEqual(0);
      expect(pressure.of("other")).toEqual({ depth: 0, oldestAgeMs: undefined });
      expect(pressure.of("nobody")).toEqual({ depth: 0, oldestAgeMs: undefined });
      const age = pressure.of("acme").oldestAgeMs ?? 0;
      await until(() => (pressure.of("acme").oldestAgeMs ?? 0) >= age + 500);
    });

    it("counts a job that waits for its next attempt, and does not call it old", async () => {
      await fixture.queues.enqueue([event("evt_1")]);
      work(() => RETRY);
      await untilState("evt_1", "delayed");
      const pressure = fixture.queues.pressure();
      await until(() => pressure.of("acme").depth === 1);
      await fixture.queues.pause("acme");
      const job = await fixture.queues.queues.get("acme")?.getJob("evt_1");
      await job?.promote();
      expect(await fixture.stateOf("evt_1")).toBe("waiting");
      // A reading that knows of what came later is of after the promotion.
      await fixture.queues.pause("other");
      await fixture.queues.enqueue([event("evt_2", { source: "other" })]);
      await until(() => pressure.of("other").depth > 0);
      expect(pressure.of("acme")).toEqual({ depth: 1, oldestAgeMs: undefined });
    });
  });
}
