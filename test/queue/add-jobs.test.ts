import { createRedisQueues, jobId, queueName } from "@millrace/queue";
import {
  makeQueueKey,
  QueueKeys,
  toEnvelope,
  type Envelope,
  type IncomingEvent,
} from "@millrace/core";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { openForEach } from "../support/open-for.ts";
import { event } from "../support/queue-fixture.ts";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { callsOf, contentsOfRedis as contents } from "../support/redis-contents.ts";
import { until } from "../support/until.ts";
import { openQueuesOnRedis } from "./queues-on-redis.ts";

describeOnRedis("adding jobs", () => {
  const on = openForEach(() => openQueuesOnRedis("ingress"));

  it("runs one script for all jobs of a call", async () => {
    await on.queues.enqueue([event("evt_0")]);
    const before = await callsOf(on.client, "evalsha");
    await on.queues.enqueue([event("evt_1"), event("evt_2"), event("evt_3")]);
    expect((await callsOf(on.client, "evalsha")) - before).toBe(1);
  });

  it("signs a job that begins later as it does every other", async () => {
    const signing = createRedisQueues({
      ...{ url: on.redis.url, keys: new QueueKeys(makeQueueKey()), sources: ["acme"] },
      ...{ role: "ingress", notify: () => undefined },
    });
    try {
      await until(() => signing.ping().then(() => true));
      const events = [event("evt_now"), event("evt_later")];
      await signing.enqueue(events, { identityOnly: true, delaysMs: [0, 60_000] });
      for (const each of events) {
        const job = await signing.findJob(each);
        expect(job?.event).toMatchObject({ eventId: each.eventId, bodyHash: each.bodyHash });
        expect(job?.mac).toBeUndefined();
      }
      expect((await on.queues.findJob(event("evt_later")))?.state).toBe("delayed");
    } finally {
      await signing.close();
    }
  });

  it("leaves in Redis what queue.add leaves there, value for value", async () => {
    const other = await startRedis();
    const plain = new Redis(other.url, { maxRetriesPerRequest: null });
    const queue = new Queue(queueName("acme"), {
      connection: plain,
      streams: { events: { maxLen: 1_000 } },
    });
    const addToBoth = async (events: IncomingEvent[], options = {}) => {
      await on.queues.enqueue(events, options);
      for (const each of events) await addPlainly(queue, toEnvelope(each, options));
      expect(await contents(on.client)).toEqual(await contents(plain));
    };
    try {
      for (const each of [on.client, plain]) {
        await until(async () => (await each.hlen(`${PREFIX}meta`)) === 2);
      }
      await addToBoth(shapes());
      expect(Object.keys(await contents(plain))).toEqual(
        ["id", "marker", "meta", "wait", ...shapes().map((each) => idOf(each))]
          .map((name) => PREFIX + name)
          .toSorted(),
      );
      await addToBoth(shapes());
      await addToBoth([event("evt_1", { body: Buffer.from("another") })]);
      await addToBoth([event("evt_identity")], { identityOnly: true });
      await Promise.all([queue.pause(), on.queues.pause("acme")]);
      await addToBoth([event("evt_paused")]);
      await Promise.all([queue.resume(), on.queues.resume("acme")]);
      await addToBoth([event("evt_resumed")]);
    } finally {
      await queue.close();
      plain.disconnect();
      await other.stop();
    }
  });

  it("counts the jobs that other tools remove, and not what Millrace does to its own", async () => {
    const removed = async () => (await on.queues.counts()).get("acme")?.removed;
    const [first, second, third] = [event("a_1"), event("a_2"), event("a_3")];
    const later = event("a_4");
    await on.client.lpush(`${PREFIX}wait`, "older_1", "older_2");
    await on.queues.enqueue([first, second, third]);
    await on.queues.enqueue([second, later], { delaysMs: [0, 60_000] });
    expect(await removed()).toBe(0);
    await on.queues.removeJob(first);
    await on.queues.removeJob(later);
    expect(await removed()).toBe(0);
    const queue = on.queues.queues.get("acme");
    await queue?.remove("a_2");
    expect(await removed()).toBe(1);
    await queue?.drain();
    expect(await removed()).toBe(4);
  });

  it("sends the script again to a Redis that has forgotten it", async () => {
    expect(await on.queues.enqueue([event("evt_1")])).toEqual(["accepted"]);
    await on.client.script("FLUSH", "SYNC");
    expect(await on.queues.enqueue([event("evt_1"), event("evt_2")])).toEqual([
      "duplicate",
      "accepted",
    ]);
  });

  it("lets a key of another kind harm the one event that it is in the way of", async () => {
    await on.client.lpush(`bull:${queueName("acme")}:evt_bad`, "a list");
    const answers = await on.queues.enqueue([event("evt_1"), event("evt_bad"), event("evt_2")]);
    expect(answers).toEqual(["accepted", expect.any(Error), "accepted"]);
    expect(String(answers[1])).toMatch(/^\w*Error: WRONGTYPE/);
    expect((await on.queues.counts()).get("acme")).toMatchObject({ waiting: 2 });
  });

  it("answers every event with the error of a full Redis, and takes them when it has room", async () => {
    await on.queues.enqueue([event("evt_0")]);
    await on.client.config("SET", "maxmemory", "1mb");
    const events = [event("evt_0"), event("evt_1"), event("evt_2")];
    const [before, ...others] = await on.queues.enqueue(events);
    for (const answer of others)
      expect(String(answer)).toMatch(/^MillraceError: Cannot enqueue: OOM/);
    // The script need not write to know a duplicate.
    expect(before).toBe("duplicate");
    expect((await on.queues.counts()).get("acme")).toMatchObject({ waiting: 1 });
    await on.client.config("SET", "maxmemory", "0");
    expect(await on.queues.enqueue(events)).toEqual(["duplicate", "accepted", "accepted"]);
  });

  it("answers every event with the error of a replica, and connects anew", async () => {
    await on.client.replicaof("127.0.0.1", 1);
    for (const answer of await on.queues.enqueue([event("evt_1"), event("evt_2")])) {
      expect(String(answer)).toMatch(/^MillraceError: Cannot enqueue: READONLY/);
    }
    await on.client.replicaof("NO", "ONE");
    // The connection was closed, for wherever its name points by then.
    await until(async () => {
      return String(await on.queues.enqueue([event("evt_1")])) === "accepted";
    });
  });

  it("tells the share of maxmemory that is used, if there is one", async () => {
    const pressure = on.queues.pressure();
    expect(pressure.memoryShare).toBeUndefined();
    await on.client.config("SET", "maxmemory", "100mb");
    const share = await until(() => pressure.memoryShare);
    expect(share).toBeGreaterThan(0);
    expect(share).toBeLessThan(0.5);
    await on.client.config("SET", "maxmemory", "0");
    await until(() => pressure.memoryShare === undefined);
  });

  it("takes more at once than one script is given", async () => {
    const events = Array.from({ length: 600 }, (_, index) => event(`evt_${index}`));
    expect(await on.queues.enqueue(events)).toEqual(events.map(() => "accepted"));
    expect(await on.queues.enqueue(events)).toEqual(events.map(() => "duplicate"));
    expect((await on.queues.counts()).get("acme")).toMatchObject({ waiting: 600 });
  });
});

const PREFIX = `bull:${queueName("acme")}:`;

function idOf({ eventId, generation }: IncomingEvent): string {
  return jobId(eventId, generation);
}

function shapes(): IncomingEvent[] {
  const acceptedAtMs = 1_700_000_000_000;
  return [
    event("evt_1", { acceptedAtMs }),
    event("evt_1", { acceptedAtMs, generation: 12 }),
    event("no safe id | é 😀", { acceptedAtMs, type: 'a "type" with \0 and ]==]' }),
    event("evt_bytes", { acceptedAtMs, body: Buffer.from([0xff, 0x00, 0xfe]) }),
    event("evt_empty", { acceptedAtMs, body: Buffer.alloc(0), headers: {}, unsigned: true }),
    event("evt_large", { acceptedAtMs, body: Buffer.alloc(100_000, "é") }),
  ];
}

async function addPlainly(queue: Queue, data: Envelope): Promise<void> {
  await queue.add(data.type, data, {
    attempts: 100_000_000,
    backoff: { type: "millrace" },
    stackTraceLimit: 0,
    jobId: jobId(data.id, data.generation),
  });
}
