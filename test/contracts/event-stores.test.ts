import {
  createDeliveryCounter,
  createLedgerStore,
  createQueueStore,
  type ClosableEventStore,
  type DeliveryCounter,
} from "@millrace/intake";
import { createLedger, createPool, openPool, type Ledger } from "@millrace/ledger";
import { createPostgresQueues, createRedisQueues, type Queues } from "@millrace/queue";
import { plainConfig } from "../intake/plain-config.ts";
import { freePort } from "../support/free-port.ts";
import { openTestLedger, type TestLedger } from "../support/ledger-fixture.ts";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { eventStoresContract, type EventStores } from "./event-stores.contract.ts";

const { sources } = plainConfig();
const names = Object.keys(sources);
const shared = { sources: names, role: "ingress", notify: () => {} } as const;

describeOnRedis("with Redis", () => {
  eventStoresContract("the queue alone", async () => {
    const { queues, close } = await openRedisQueues();
    const stores = [createQueueStore({ queue: queues, sources })];
    return { ...closing(stores, close), ack: "queue", bodyOf: bodyInJob(queues) };
  });

  eventStoresContract("the queue, beside a ledger", async () => {
    const { queues, ...both } = await openBoth();
    return { ...both, ack: "queue", bodyOf: bodyInJob(queues) };
  });

  eventStoresContract("the ledger, beside a queue", async () => {
    const both = await openBoth();
    return { ...both, ack: "ledger", bodyOf: both.bodyInLedger };
  });

  eventStoresContract("the ledger, for a queue whose Redis is dead", async () => {
    const both = await openBoth();
    await both.redis.kill();
    return { ...both, ack: "queue", bodyOf: both.bodyInLedger };
  });

  eventStoresContract("the queue, for a ledger whose Postgres is away", async () => {
    const { queues, close } = await openRedisQueues();
    const url = `postgres://nobody@127.0.0.1:${await freePort()}/none`;
    const pool = createPool({ url, max: 2, applicationName: "test", connectionTimeoutMs: 800 });
    const stores = bothStores(queues, createLedger({ pool }));
    return {
      ...closing(stores, close, () => pool.end()),
      ack: "ledger",
      bodyOf: bodyInJob(queues),
      conflictStatus: 503,
    };
  });
});

eventStoresContract("the ledger, over a queue on Postgres", async () => {
  const test = await openTestLedger();
  const queues = await createPostgresQueues({
    openPool: (settings) => openPool(test.url, settings),
    ...shared,
  });
  const ledger = test.ledger.intake;
  const deliveries = counterIn(test.ledger);
  const stores = [createLedgerStore({ ledger, queue: queues, sources, deliveries })];
  const { bodyInLedger, ...reads } = readsOf(test);
  return {
    ...closing(
      stores,
      () => deliveries.close(1_000),
      () => queues.close(),
      test.close,
    ),
    ack: "ledger",
    bodyOf: bodyInLedger,
    ...reads,
  };
});

async function openRedisQueues() {
  const redis = await startRedis();
  const queues = createRedisQueues({ url: redis.url, ...shared });
  await until(() => queues.ping().then(() => true));
  const close = async () => {
    await queues.close();
    await redis.stop();
  };
  return { redis, queues, close };
}

async function openBoth() {
  const { redis, queues, close } = await openRedisQueues();
  const test = await openTestLedger();
  const deliveries = counterIn(test.ledger);
  const stores = bothStores(queues, test.ledger, deliveries);
  const closeNotes = () => deliveries.close(1_000);
  return { redis, queues, ...readsOf(test), ...closing(stores, closeNotes, close, test.close) };
}

function bothStores(
  queues: Queues,
  ledger: Ledger,
  deliveries?: DeliveryCounter,
): ClosableEventStore[] {
  return [
    createQueueStore({ queue: queues, sources, ledger: ledger.intake, deliveries }),
    createLedgerStore({ ledger: ledger.intake, queue: queues, sources, deliveries }),
  ];
}

const counterIn = (ledger: Ledger): DeliveryCounter =>
  createDeliveryCounter(ledger.intake, { ingress: "host-1", onLost: () => {} });

function closing(
  stores: readonly ClosableEventStore[],
  ...closers: readonly (() => Promise<unknown>)[]
): Pick<EventStores, "stores" | "close"> {
  return {
    stores,
    close: async () => {
      await Promise.all(stores.map((store) => store.close(1_000)));
      for (const close of closers) await close();
    },
  };
}

function readsOf({ ask }: TestLedger) {
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
    repeatsOf: async (eventId: string) => {
      const [row] = await ask<{ outcomes: string[] }>(
        `select array(select one ->> 'outcome'
             from jsonb_array_elements(recent) with ordinality as came (one, place) order by place desc) as outcomes
           from millrace.deliveries where event_id = $1`,
        [eventId],
      );
      return row?.outcomes ?? [];
    },
  };
}

function bodyInJob(queues: Queues): EventStores["bodyOf"] {
  return async (eventId) => {
    const job = await queues.findJob({ source: "plain", eventId, generation: 0 });
    return job?.event?.body && Buffer.from(job.event.body).toString();
  };
}
