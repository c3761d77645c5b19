import {
  createLedgerStore,
  createQueueStore,
  type ClosableEventStore,
  type QueueClient,
} from "@millrace/intake";
import { createLedger, createPool } from "@millrace/ledger";
import { createPostgresQueues, createRedisQueues, type Queues } from "@millrace/queue";
import { plainConfig } from "../intake/plain-config.ts";
import { openTestLedger } from "../support/ledger-fixture.ts";
import { freePort } from "../support/free-port.ts";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { placesContract, type PlacesStage } from "./places.contract.ts";

const { sources } = plainConfig();
const names = Object.keys(sources);
const shared = { sources: names, role: "ingress", notify: () => {} } as const;

describeOnRedis("with Redis", () => {
  placesContract("the queue alone", async () => {
    const redis = await startRedis();
    const queues = createRedisQueues({ url: redis.url, ...shared });
    await until(() => queues.ping().then(() => true));
    const store = createQueueStore({ queue: queues, sources });
    return stageOf([store], "queue", bodyInJob(queues), [() => queues.close(), () => redis.stop()]);
  });

  placesContract("the queue, beside a ledger", async () => {
    const both = await openBoth();
    return { ...both, ...stageOf(both.stores, "queue", bodyInJob(both.queues), [both.close]) };
  });

  placesContract("the ledger, beside a queue", async () => {
    const both = await openBoth();
    return { ...both, ...stageOf(both.stores, "ledger", both.bodyInLedger, [both.close]) };
  });

  placesContract("the ledger, for a queue whose Redis is dead", async () => {
    const both = await openBoth();
    await both.redis.kill();
    return { ...both, ...stageOf(both.stores, "queue", both.bodyInLedger, [both.close]) };
  });

  placesContract("the queue, for a ledger whose Postgres is away", async () => {
    const redis = await startRedis();
    const queues = createRedisQueues({ url: redis.url, ...shared });
    await until(() => queues.ping().then(() => true));
    const url = `postgres://nobody@127.0.0.1:${await freePort()}/none`;
    const pool = createPool({ url, max: 2, applicationName: "test", connectionTimeoutMs: 800 });
    const ledger = createLedger({ pool });
    const stores = [
      createQueueStore({ queue: queues, sources, conflicts: ledger.intake }),
      createLedgerStore({ ledger: ledger.intake, queue: queues, sources }),
    ];
    return stageOf(stores, "ledger", bodyInJob(queues), [
      () => queues.close(),
      () => pool.end(),
      () => redis.stop(),
    ]);
  });
});

placesContract("the ledger, over a queue on Postgres", async () => {
  const { ledger, ask, url, close } = await openTestLedger();
  const queues = await createPostgresQueues({ url, ...shared });
  const store = createLedgerStore({ ledger: ledger.intake, queue: queues, sources });
  const look = ledgerLooks(ask);
  return {
    ...look,
    ...stageOf([store], "ledger", look.bodyInLedger, [() => queues.close(), close]),
  };
});

type Body = PlacesStage["bodyOf"];
type Ask = Awaited<ReturnType<typeof openTestLedger>>["ask"];

function stageOf(
  stores: readonly ClosableEventStore[],
  ack: PlacesStage["ack"],
  bodyOf: Body,
  closers: readonly (() => Promise<unknown>)[],
): PlacesStage {
  return {
    stores,
    ack,
    bodyOf,
    close: async () => {
      await Promise.all(stores.map((store) => store.close(1_000)));
      for (const close of closers) await close();
    },
  };
}

async function openBoth() {
  const redis = await startRedis();
  const { ledger, ask, close } = await openTestLedger();
  const queues = createRedisQueues({ url: redis.url, ...shared });
  await until(() => queues.ping().then(() => true));
  return {
    redis,
    queues,
    stores: [
      createQueueStore({ queue: queues, sources, conflicts: ledger.intake }),
      createLedgerStore({ ledger: ledger.intake, queue: queues satisfies QueueClient, sources }),
    ],
    ...ledgerLooks(ask),
    close: async () => {
      await queues.close();
      await close();
      await redis.stop();
    },
  };
}

function ledgerLooks(ask: Ask) {
  return {
    bodyInLedger: async (eventId: string) => {
      const [row] = await ask<{ body: string }>(
        `select convert_from(b.body, 'UTF8') as body from millrace.events e
           join millrace.bodies b on (b.day, b.id) = (e.body_day, e.body_id)
          where e.source = 'plain' and e.event_id = $1`,
        [eventId],
      );
      return row?.body;
    },
    conflictsOf: async (eventId: string) => {
      const [row] = await ask<{ deliveries: number }>(
        "select sum(deliveries)::int as deliveries from millrace.conflicts where event_id = $1",
        [eventId],
      );
      return row?.deliveries ?? 0;
    },
  };
}

function bodyInJob(queues: Queues): Body {
  return async (eventId) => {
    const job = await queues.findJob({ source: "plain", eventId, generation: 0 });
    return job?.event?.body && Buffer.from(job.event.body).toString();
  };
}
