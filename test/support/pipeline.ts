import { randomBytes } from "node:crypto";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseConfig } from "@millrace/core";
import { migrate, USER_SCOPE } from "@millrace/ledger";
import pg from "pg";
import { Webhook } from "standardwebhooks";
import exported from "../fixtures/pipeline/millrace.config.ts";
import { openOn, type TestServers } from "./backends.ts";
import { startInProcess, type RoleOptions } from "./in-process.ts";
import { startRole } from "./millrace-process.ts";
import type { ServerUrls } from "./server-urls.ts";
import { until } from "./until.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/pipeline/millrace.config.ts", import.meta.url));
const SECRET = `whsec_${randomBytes(32).toString("base64")}`;

export const SECRETS = {
  acme: SECRET,
  patient: SECRET,
  stripe: SECRET,
  github: "a-github-secret",
  mirror: "a-mirror-secret",
};

export type Pipeline = Awaited<ReturnType<typeof createPipeline>>;

type RoleName = "ingress" | "worker" | "dashboard";
type Variables = Readonly<Record<string, string>>;

function environmentOf(urls: ServerUrls) {
  return {
    MILLRACE_CONFIG: CONFIG,
    DATABASE_URL: urls.databaseUrl,
    ...(urls.redisUrl === undefined ? {} : { REDIS_URL: urls.redisUrl }),
    HOST: "127.0.0.1",
    INGRESS_PORT: "0",
    WORKER_PORT: "0",
    DASHBOARD_PORT: "0",
    ACME_WEBHOOK_SECRET: SECRETS.acme,
    PATIENT_WEBHOOK_SECRET: SECRETS.patient,
    STRIPE_WEBHOOK_SECRET: SECRETS.stripe,
    GITHUB_WEBHOOK_SECRET: SECRETS.github,
    MIRROR_WEBHOOK_SECRET: SECRETS.mirror,
  };
}

export async function createPipeline(
  urls: ServerUrls,
  over: Variables = {},
  config: unknown = exported,
) {
  const env = { ...environmentOf(urls), ...over };
  const database = new pg.Pool({ connectionString: urls.databaseUrl, max: 4 });
  // A suite may kill the server under the pool; the next query connects anew.
  database.on("error", () => {});
  await migrate({ pool: database });
  const { migrations } = parseConfig(config);
  if (migrations !== undefined) {
    const folder = resolve(dirname(env.MILLRACE_CONFIG), migrations);
    await migrate({ pool: database, scope: USER_SCOPE, folder });
  }
  const ends: (() => Promise<unknown>)[] = [];
  return {
    database,
    env: env as Readonly<Record<string, string>>,
    start: async (role: RoleName, more: Variables = {}) => {
      const started = await startRole(role, { ...env, ...more });
      ends.push(() => started.end());
      return started;
    },
    startInProcess: async (role: RoleName, more: Variables = {}, options: RoleOptions = {}) => {
      const started = await startInProcess(role, config, { ...env, ...more }, options);
      ends.push(() => started.close());
      return started;
    },
    stop: async () => {
      await Promise.all(ends.map((end) => end()));
      await database.end();
    },
  };
}

export type Stack = Awaited<ReturnType<typeof startStack>>;

interface StackOptions {
  readonly env?: Variables;
  readonly config?: unknown;
  readonly dashboard?: RoleOptions;
  readonly worker?: boolean;
}

export function startStack(
  prepare: () => Promise<TestServers>,
  { env, config, dashboard: options, worker = true }: StackOptions = {},
) {
  return openPipeline(prepare, { env, config }, async (pipeline) => {
    const [ingress, dashboard] = await Promise.all([
      pipeline.startInProcess("ingress"),
      pipeline.startInProcess("dashboard", {}, options),
      worker ? pipeline.startInProcess("worker") : undefined,
    ]);
    return { ingress, dashboard };
  });
}

/** A pipeline with what `start` starts in it, on servers that are released when it is closed. */
export async function openPipeline<T extends object>(
  prepare: () => Promise<TestServers>,
  { env, config }: { env: Variables | undefined; config: unknown },
  start: (pipeline: Pipeline) => Promise<T>,
) {
  const servers = await prepare();
  return await openOn(servers, async () => {
    const pipeline = await createPipeline(servers, env, config);
    const close = async () => {
      await pipeline.stop();
      await servers.release();
    };
    return { servers, pipeline, ...(await start(pipeline)), close };
  });
}

interface PostedEvent {
  readonly id: string;
  readonly type: string;
  readonly source?: "acme" | "patient";
  readonly data?: unknown;
  readonly body?: string;
  readonly headers?: Variables;
}

export async function post(ingressUrl: string, event: PostedEvent) {
  return await until(async () => {
    const answer = await postOnce(ingressUrl, event);
    return answer.status === 503 ? undefined : answer;
  });
}

export async function postOnce(ingressUrl: string, event: PostedEvent) {
  const source = event.source ?? "acme";
  const body = event.body ?? JSON.stringify({ type: event.type, data: event.data ?? {} });
  const now = new Date();
  const response = await fetch(`${ingressUrl}/webhooks/${source}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "webhook-id": event.id,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
      "webhook-signature": new Webhook(SECRETS[source]).sign(event.id, now, body),
      ...event.headers,
    },
    body,
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

export async function untilCompletedOnce(
  database: pg.Pool,
  ids: readonly string[],
  { withinMs = 60_000 } = {},
): Promise<{ event_id: string; effects: number }[]> {
  await until(
    async () => {
      const { rows } = await database.query(
        "select count(*)::int from webhook_events where status = 'completed' and event_id = any($1)",
        [ids],
      );
      return rows[0].count === ids.length;
    },
    { withinMs, what: `${ids.length} events completed` },
  );
  const { rows } = await database.query(
    `select event_id, count(effects.event_id)::int as effects
       from unnest($1::text[]) as wanted (event_id) full join effects using (event_id)
      group by 1 having count(effects.event_id) <> 1`,
    [ids],
  );
  return rows;
}
