import { fileURLToPath } from "node:url";
import config from "../fixtures/two-places/millrace.config.ts";
import { SECRET, signed } from "../intake/plain-config.ts";
import { sendTo } from "../intake/send-to.ts";
import { createPipeline, type Pipeline } from "../support/pipeline.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/two-places/millrace.config.ts", import.meta.url));
const SECRETS = Object.fromEntries(
  ["FAST", "SAFE", "QUIET", "NARROW", "LARGE"].map((name) => [`${name}_WEBHOOK_SECRET`, SECRET]),
);

/** An ingress, in this process or in its own. */
interface Ingress {
  readonly url: string;
}

/** The ends of one delivery: status, and how long its sender waited. */
export interface Ack {
  readonly status: number;
  readonly tookMs: number;
}

/** A Redis, a Postgres, and a migrated pipeline over them. */
export interface Stage<Postgres = unknown> {
  readonly redis: TestRedis;
  readonly postgres: Postgres;
  readonly pipeline: Pipeline;
  close(): Promise<void>;
}

/** Servers that each test of a file may kill and start again, and a pipeline of each test's own over them. */
export interface ServersToKill {
  open(): Promise<Stage<TestPostgres>>;
  stop(): Promise<void>;
}

export async function startServersToKill(): Promise<ServersToKill> {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  return {
    open: async () => {
      const pipeline = await openPipeline(redis, postgres);
      return {
        redis,
        postgres,
        pipeline,
        close: async () => {
          redis.thaw();
          postgres.thaw();
          await pipeline.stop();
        },
      };
    },
    stop: async () => {
      await Promise.all([redis.stop(), postgres.stop()]);
    },
  };
}

export async function openStage<Postgres extends { url: string; stop(): Promise<void> }>(
  postgres: Postgres,
): Promise<Stage<Postgres>> {
  const redis = await startRedis();
  const pipeline = await openPipeline(redis, postgres);
  return {
    redis,
    postgres,
    pipeline,
    close: async () => {
      redis.thaw();
      await pipeline.stop();
      await Promise.all([redis.stop(), postgres.stop()]);
    },
  };
}

function openPipeline(redis: TestRedis, postgres: { readonly url: string }): Promise<Pipeline> {
  const urls = { databaseUrl: postgres.url, redisUrl: redis.url };
  return createPipeline(urls, { MILLRACE_CONFIG: CONFIG, ...SECRETS }, config);
}

/** Delivers one event to an ingress. */
export async function deliver(
  ingress: Ingress,
  source: string,
  event: Readonly<Record<string, unknown>>,
): Promise<Ack> {
  const began = performance.now();
  const port = Number(new URL(ingress.url).port);
  const { status } = await sendTo(port, { source, ...signed(event) });
  return { status, tookMs: performance.now() - began };
}

/** Eight senders that deliver one event after another until they are stopped. */
export function startSenders(ingress: Ingress, source: string, prefix: string) {
  const acks: (Ack & { id: string })[] = [];
  let stopped = false;
  const send = async (lane: number) => {
    for (let n = 0; !stopped; n += 1) {
      const id = `${prefix}_${lane}_${n}`;
      acks.push({ id, ...(await deliver(ingress, source, { id })) });
    }
  };
  const senders = Array.from({ length: 8 }, (_, lane) => send(lane));
  return {
    acks,
    /** Waits until so many more were answered. */
    more: async (count: number) => {
      const goal = acks.length + count;
      await until(() => acks.length >= goal);
    },
    stop: async () => {
      stopped = true;
      await Promise.all(senders);
      return acks;
    },
  };
}

export interface ReadyAnswer {
  readonly httpStatus: number;
  readonly status: string;
  readonly places?: Readonly<Record<string, string>>;
  readonly parts: Readonly<Record<string, string>>;
}

export async function readiness(ingress: Ingress): Promise<ReadyAnswer> {
  const response = await fetch(`${ingress.url}/readyz`);
  return {
    httpStatus: response.status,
    ...((await response.json()) as Omit<ReadyAnswer, "httpStatus">),
  };
}

/** Waits until the ingress says of itself what is expected. */
export async function untilReady(ingress: Ingress, status: string): Promise<ReadyAnswer> {
  return await until(async () => {
    const answer = await readiness(ingress);
    return answer.status === status ? answer : undefined;
  });
}

/** The values of a metric by its labels, without the default ones. */
export async function metric(ingress: Ingress, name: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${ingress.url}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`));
  return new Map(
    lines.map((line) => {
      const labels = /\{(.*)\}/.exec(line)?.[1]?.replace(/,?(role|version|instance)="[^"]*"/g, "");
      return [labels ?? "", Number(line.split(" ").at(-1))];
    }),
  );
}

/** Waits until every one of these events is completed, each with exactly one effect. */
export async function untilCompletedOnce(pipeline: Pipeline, ids: readonly string[]) {
  await until(
    async () => {
      const { rows } = await pipeline.database.query(
        "select count(*)::int from webhook_events where status = 'completed' and event_id = any($1)",
        [ids],
      );
      return rows[0].count === ids.length;
    },
    { withinMs: 90_000, what: `${ids.length} events completed` },
  );
  const { rows } = await pipeline.database.query(
    "select event_id, count(*)::int from effects where event_id = any($1) group by 1 having count(*) <> 1",
    [ids],
  );
  return rows;
}
