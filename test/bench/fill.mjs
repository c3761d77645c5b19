// Fills the contenders' queues, before any clock runs.
import { createHash } from "node:crypto";
import { QueueKeys } from "@millrace/core";
import { createLedger, createPool, openPool } from "@millrace/ledger";
import { createPostgresQueues, createRedisQueues, queueName } from "@millrace/queue";
import { Queue } from "bullmq";
import { makeWorkerUtils } from "graphile-worker";
import { jobOptions, QUEUE, startBoss } from "./contenders/pg-boss-queue.mjs";
import { usualBackend } from "./contenders/usual-queue.mjs";
import { BODY, EVENT, EVENT_TYPE, eventId } from "./event.mjs";

const BATCH = 200;

export async function fillUsual(env, events) {
  const { connection, factory } = usualBackend(env);
  const queue = new Queue("usual", { connection }, factory);
  await inBatches(events, (numbers) =>
    queue.addBulk(
      numbers.map((number) => ({
        name: EVENT_TYPE,
        data: EVENT,
        opts: { jobId: eventId(number), attempts: 12, removeOnComplete: { count: 10_000 } },
      })),
    ),
  );
  await queue.close();
}

export async function fillMillrace(env, events, { ledger = false } = {}) {
  const role = /** @type {const} */ ("cli");
  // No clock runs while the queue is filled, and a busy machine may take longer than an ingress waits.
  const settings = { sources: ["bench"], role, notify: () => {}, enqueueTimeoutMs: 20_000 };
  const queues =
    env.REDIS_URL === undefined
      ? await createPostgresQueues({
          ...settings,
          openPool: (pool) => openPool(env.DATABASE_URL, pool),
        })
      : createRedisQueues({
          ...settings,
          url: env.REDIS_URL,
          keys: new QueueKeys(env.MILLRACE_QUEUE_KEY),
        });
  await queues.ping();
  const pool = createPool({ url: env.DATABASE_URL, max: 1, applicationName: "bench" });
  const { intake, repair } = createLedger({ pool });
  // A worker compares a queue that is new to it with all that is pending. This one it knows.
  await queues.writeEpoch("bench", "bench");
  const epoch = (await queues.epochs(["bench"])).get("bench");
  if (epoch !== undefined) await repair.writeEpochs(new Map([[queueName("bench"), epoch]]));
  await inBatches(events, async (numbers) => {
    const batch = numbers.map((number) => incomingEvent(number, env.BENCH_SHAPE === "unsigned"));
    if (ledger) checkAccepted(await intake.accept(batch));
    checkAccepted(await queues.enqueue(batch, { identityOnly: ledger }));
    if (ledger) await intake.markEnqueued(batch);
  });
  await queues.close();
  await pool.end();
}

const hashOf = (body) => createHash("sha256").update(body).digest("base64url");
const BODY_HASH = hashOf(BODY);

function incomingEvent(number, unsigned) {
  const id = eventId(number);
  const body = unsigned ? Buffer.from(JSON.stringify({ ...EVENT, id })) : BODY;
  return {
    source: "bench",
    eventId: id,
    generation: 0,
    type: EVENT_TYPE,
    acceptedAtMs: Date.now(),
    bodyHash: unsigned ? hashOf(body) : BODY_HASH,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
    },
    unsigned,
    body,
  };
}

function checkAccepted(results) {
  const refused = results.find((result) => result !== "accepted");
  if (refused !== undefined) throw new Error("Cannot fill the queue", { cause: refused });
}

export async function fillPgBoss(env, events) {
  const boss = await startBoss(env.DATABASE_URL);
  await inBatches(events, (numbers) =>
    boss.insert(
      numbers.map(eventId).map((id) => ({
        name: QUEUE,
        data: { eventId: id, event: EVENT },
        ...jobOptions(id),
      })),
    ),
  );
  await boss.stop({ graceful: false, wait: true });
}

export async function fillGraphile(env, events) {
  const utils = await makeWorkerUtils({ connectionString: env.DATABASE_URL });
  await inBatches(events, (numbers) =>
    utils.addJobs(
      numbers.map(eventId).map((id) => ({
        identifier: "bench",
        payload: { eventId: id, event: EVENT },
        jobKey: id,
        maxAttempts: 12,
      })),
    ),
  );
  await utils.release();
}

async function inBatches(events, add) {
  for (let at = 0; at < events; at += BATCH) {
    const length = Math.min(BATCH, events - at);
    await add(Array.from({ length }, (_, index) => at + index));
  }
}
