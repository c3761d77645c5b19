import { toEnvelope, type Envelope, type StoreResult } from "@millrace/core";
import {
  type Queue,
  PostgresQueueBackend,
  type BackendFactory,
  type PostgresConnection,
  type RedisQueueBackend,
} from "bullmq";
import type pg from "pg";
import type { AddOptions, NewJob } from "../backend.ts";
import { jobOptions } from "../jobs.ts";

const KNOWN = `
  SELECT id, state = 'failed' AS failed, data ->> 'body_hash' AS body_hash
    FROM job WHERE queue = $1 AND id = ANY($2::text[])`;

/** Adds jobs in one statement: all or none. Without `exact`, everything is `accepted`. */
export async function addToPostgres(
  pool: pg.Pool,
  queue: Queue,
  jobs: readonly NewJob[],
  { exact, identityOnly }: AddOptions,
): Promise<readonly StoreResult[]> {
  const distinct = firstOfEach(jobs);
  const known = exact ? await knownJobs(pool, queue, distinct) : new Map<string, KnownJob>();
  await queue.addBulk(
    distinct.map(({ id, event, delayMs }) => {
      const data = withoutNul(toEnvelope(event, { identityOnly }));
      return { name: event.type, data, opts: jobOptions(id, delayMs) };
    }),
  );
  return storeResults(jobs, known, exact);
}

function firstOfEach(jobs: readonly NewJob[]): readonly NewJob[] {
  return [...new Map(jobs.toReversed().map((job) => [job.id, job])).values()].toReversed();
}

interface KnownJob {
  /** Of the event that it has; undefined when its data was edited into something else. */
  readonly bodyHash: string | undefined;
  readonly failed: boolean;
}

async function knownJobs(
  pool: pg.Pool,
  queue: Queue,
  jobs: readonly NewJob[],
): Promise<ReadonlyMap<string, KnownJob>> {
  const { rows } = await pool.query<{ id: string; failed: boolean; body_hash: string | null }>(
    KNOWN,
    [queue.name, jobs.map(({ id }) => id)],
  );
  return new Map(
    rows.map((row) => [row.id, { bodyHash: row.body_hash ?? undefined, failed: row.failed }]),
  );
}

/** Job data is jsonb here, which refuses U+0000 in a string; base64 has none. */
function withoutNul(envelope: Envelope): Envelope {
  if (envelope.body_encoding !== "utf8" || envelope.body?.includes("\0") !== true) return envelope;
  return {
    ...envelope,
    body: Buffer.from(envelope.body, "utf8").toString("base64"),
    body_encoding: "base64",
  };
}

function storeResults(
  jobs: readonly NewJob[],
  known: ReadonlyMap<string, KnownJob>,
  exact: boolean,
): readonly StoreResult[] {
  const kept = new Map(known);
  return jobs.map(({ id, event: { bodyHash } }) => {
    const before = kept.get(id);
    if (before === undefined) {
      kept.set(id, { bodyHash, failed: false });
      return "accepted";
    }
    if (!exact) return "duplicate";
    if (before.bodyHash !== undefined && before.bodyHash !== bodyHash) return "conflict";
    return before.failed ? "failed" : "duplicate";
  });
}

/** BullMQ's types name the Redis backend by default; nothing uses it through them. */
export function shareConnection(
  connection: PostgresConnection,
  workers: Set<PostgresQueueBackend>,
): BackendFactory<RedisQueueBackend> {
  const factory: BackendFactory<PostgresQueueBackend, never> = (name, options, extra) => {
    const backend = new PostgresQueueBackend(connection, name, options, false);
    if (extra?.withBlockingConnection === true) workers.add(backend);
    return backend;
  };
  return factory as unknown as BackendFactory<RedisQueueBackend>;
}

/** All workers subscribe on the one LISTEN connection, and pg takes one statement at a time. */
export function queryInTurn(connection: PostgresConnection): void {
  const seen = new WeakSet<object>();
  const getListenClient = connection.getListenClient.bind(connection);
  connection.getListenClient = async () => {
    const client = await getListenClient();
    if (seen.has(client)) return client;
    seen.add(client);
    const query = client.query.bind(client);
    let last: Promise<unknown> = Promise.resolve();
    client.query = (text, params) => {
      const next = last.then(() => query(text, params));
      last = Promise.allSettled([next]);
      return next;
    };
    return client;
  };
}
