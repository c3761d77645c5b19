import { createRedisQueues, jobId, queueName, type Queues } from "@millrace/queue";
import {
  makeQueueKey,
  QueueKeys,
  toEnvelope,
  type Envelope,
  type IncomingEvent,
} from "@millrace/core";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { afterEach, beforeEach, expect, it } from "vitest";
import { event } from "../support/queue-fixture.ts";
import { describeOnRedis, startRedis, type TestRedis } from "../support/redis.ts";
import { contentsOfRedis as contents, scriptsRun } from "../support/redis-contents.ts";
import { until } from "../support/until.ts";

describeOnRedis("adding jobs", () => {
  let redis: TestRedis;
  let client: Redis;
  let queues: Queues;

  beforeEach(async () => {
    redis = await startRedis();
    client = new Redis(redis.url);
    queues = openQueues(redis);
    await until(() => queues.ping().then(() => true));
  });

  afterEach(async () => {
    await queues.close();
    client.disconnect();
    await redis.stop();
  });

  it("runs one script for all jobs of a call", async () => {
    await queues.enqueue([event("evt_0")]);
    const before = await scriptsRun(client);
    await queues.enqueue([event("evt_1"), event("evt_2"), event("evt_3")]);
    expect((await scriptsRun(client)) - before).toBe(1);
  });

  it("signs a job that begins later as it does every other", async () => {
    const signing = openQueues(redis, new QueueKeys(makeQueueKey()));
    try {
      await until(() => signing.ping().then(() => true));
      const events = [event("evt_now"), event("evt_later")];
      await signing.enqueue(events, { identityOnly: true, delaysMs: [0, 60_000] });
      for (const each of events) {
        const job = await signing.findJob(each);
        expect(job?.event).toMatchObject({ eventId: each.eventId, bodyHash: each.bodyHash });
        expect(job?.mac).toBeUndefined();
      }
      expect((await queues.findJob(event("evt_later")))?.state).toBe("delayed");
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
      await queues.enqueue(events, options);
      for (const each of events) await addPlainly(queue, toEnvelope(each, options));
      expect(await contents(client)).toEqual(await contents(plain));
    };
    try {
      for (const each of [client, plain]) {
        await until(async () => (await each.hlen(`${PREFIX}meta`)) === 2);
      }
      await addToBoth(shapes());
      expect(Object.keys(await contents(plain))).toEqual(
        ["events", "id", "marker", "meta", "wait", ...shapes().map((each) => idOf(each))]
          .map((name) => PREFIX + name)
          .toSorted(),
      );
      await addToBoth(shapes());
      await addToBoth([event("evt_1", { body: Buffer.from("another") })]);
      await addToBoth([event("evt_identity")], { identityOnly: true });
      await Promise.all([queue.pause(), queues.pause("acme")]);
      await addToBoth([event("evt_paused")]);
      await Promise.all([queue.resume(), queues.resume("acme")]);
      await addToBoth([event("evt_resumed")]);
    } finally {
      await queue.close();
      plain.disconnect();
      await other.stop();
    }
  });

  it("sends the script again to a Redis that has forgotten it", async () => {
    expect(await queues.enqueue([event("evt_1")])).toEqual(["accepted"]);
    await client.script("FLUSH", "SYNC");
    expect(await queues.enqueue([event("evt_1"), event("evt_2")])).toEqual([
      "duplicate",
      "accepted",
    ]);
  });

  it("lets a key of another kind harm the one event that it is in the way of", async () => {
    await client.lpush(`bull:${queueName("acme")}:evt_bad`, "a list");
    const answers = await queues.enqueue([event("evt_1"), event("evt_bad"), event("evt_2")]);
    expect(answers).toEqual(["accepted", expect.any(Error), "accepted"]);
    expect(String(answers[1])).toMatch(/^\w*Error: WRONGTYPE/);
    expect((await queues.counts()).get("acme")).toMatchObject({ waiting: 2 });
  });

  it("answers every event with the error of a full Redis, and takes them when it has room", async () => {
    await queues.enqueue([event("evt_0")]);
    await client.config("SET", "maxmemory", "1mb");
    const events = [event("evt_0"), event("evt_1"), event("evt_2")];
    const [before, ...others] = await queues.enqueue(events);
    for (const answer of others)
      expect(String(answer)).toMatch(/^MillraceError: Cannot enqueue: OOM/);
    // The script need not write to know a duplicate.
    expect(before).toBe("duplicate");
    expect((await queues.counts()).get("acme")).toMatchObject({ waiting: 1 });
    await client.config("SET", "maxmemory", "0");
    expect(await queues.enqueue(events)).toEqual(["duplicate", "accepted", "accepted"]);
  });

  it("answers every event with the error of a replica, and connects anew", async () => {
    await client.replicaof("127.0.0.1", 1);
    for (const answer of await queues.enqueue([event("evt_1"), event("evt_2")])) {
      expect(String(answer)).toMatch(/^MillraceError: Cannot enqueue: READONLY/);
    }
    await client.replicaof("NO", "ONE");
    // The connection was closed, for wherever its name points by then.
    await until(async () => {
      return String(await queues.enqueue([event("evt_1")])) === "accepted";
    });
  });

  it("takes more at once than one script is given", async () => {
    const events = Array.from({ length: 600 }, (_, index) => event(`evt_${index}`));
    expect(await queues.enqueue(events)).toEqual(events.map(() => "accepted"));
    expect(await queues.enqueue(events)).toEqual(events.map(() => "duplicate"));
    expect((await queues.counts()).get("acme")).toMatchObject({ waiting: 600 });
  });
});

const PREFIX = `bull:${queueName("acme")}:`;

function openQueues(redis: TestRedis, keys?: QueueKeys): Queues {
  return createRedisQueues({
    url: redis.url,
    keys,
    sources: ["acme"],
    role: "ingress",
    notify: () => undefined,
  });
}

function idOf({ eventId, generation }: IncomingEvent): string {
  return jobId(eventId, generation);
}

/** Events of every shape that an envelope can have. */
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

/** What adds a job in the plainest way, told apart from our code: every option stands here. */
async function addPlainly(queue: Queue, data: Envelope): Promise<void> {
  await queue.add(data.type, data, {
    attempts: 100_000_000,
    backoff: { type: "millrace" },
    stackTraceLimit: 0,
    jobId: jobId(data.id, data.generation),
  });
}
