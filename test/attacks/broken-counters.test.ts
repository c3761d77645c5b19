import { makeQueueKey, toEnvelope } from "@millrace/core";
import { defineConfig, on, standardWebhooks } from "millrace";
import { expect, test } from "vitest";
import { anEvent } from "../support/events.ts";
import { openForAll } from "../support/open-for.ts";
import { post } from "../support/pipeline.ts";
import { withQueue } from "../support/queue-fixture.ts";
import { describeOnRedis } from "../support/redis.ts";
import { startJobForger } from "./job-forger.ts";

const BROKEN = ["x", "", "1.5", "9223372036854775807"];

const handled: string[] = [];
const runsOf = (id: string) => handled.filter((one) => one === id).length;
const config = defineConfig({
  sources: { acme: standardWebhooks() },
  handlers: [
    on("acme", "*", ({ id }) => {
      handled.push(id);
      // The next one is fetched with what is broken as this one is delayed.
      if (id.startsWith("evt_again") && runsOf(id) === 1) throw new Error("not yet");
      return Promise.resolve();
    }),
  ],
});

describeOnRedis("a job whose counters somebody has broken", () => {
  const forger = openForAll(() => startJobForger(config, makeQueueKey()));

  async function addBroken(
    ids: readonly string[],
    field: string,
    values: readonly string[] = [],
    add = (id: string): Promise<unknown> => post(forger.ingress.url, { id, type: "a.b" }),
  ): Promise<void> {
    await withQueue(forger.servers, "acme", async (queue) => {
      await queue.pause();
      for (const [index, id] of ids.entries()) {
        await add(id);
        await forger.redis((client) =>
          client.hset(`bull:millrace-acme:${id}`, field, values[index] ?? "x"),
        );
      }
      await queue.resume();
    });
  }

  test.each([
    ["ats", "its runs"],
    ["atm", "its attempts"],
  ])("(%s) a signed job runs once, at once, whatever is written for %s", async (field) => {
    const ids = BROKEN.map((_, index) => `evt_${field}_${index}`);
    await addBroken(ids, field, BROKEN);
    for (const id of ids) {
      await forger.settled(id);
      expect(runsOf(id)).toBe(1);
    }
  });

  test("a job behind another's end, and one that is retried, are fetched too", async () => {
    const ids = Array.from({ length: 30 }, (_, index) =>
      index % 3 === 0 ? `evt_again_${index}` : `evt_once_${index}`,
    );
    await addBroken(ids, "ats");
    for (const id of ids) await forger.settled(id);
    expect(ids.map(runsOf)).toEqual(ids.map((id) => (id.startsWith("evt_again") ? 2 : 1)));
  });

  test("a job that nobody has signed fails with its code, and does not cycle", async () => {
    await addBroken(["evt_unsigned_1"], "ats", ["x"], (id) =>
      forger.add(toEnvelope(anEvent({ source: "acme", eventId: id })), id),
    );
    expect(await forger.failedReason("evt_unsigned_1")).toContain("job_mac_invalid");
    expect(handled).not.toContain("evt_unsigned_1");
  });
});
