import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { redisText, withRedis } from "../../support/redis-client.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import type { ClientLog } from "../load/client-log.ts";

export interface Finding {
  readonly invariant: string;
  readonly text: string;
}

export type Check = (evidence: Evidence) => readonly Finding[] | Promise<readonly Finding[]>;

export interface Generation {
  readonly source: string;
  readonly id: string;
  readonly generation: number;
}

export interface LedgerRow extends Generation {
  readonly type: string;
  readonly status: "pending" | "completed" | "failed";
  readonly outcome: string | null;
  readonly attempts: number;
  readonly code: string | null;
}

export interface EffectRow extends Generation {
  readonly attempt: number;
  readonly answers: string | null;
}

export interface StartRow extends Generation {
  readonly attempt: number;
  readonly pid: number;
  readonly given: number;
}

interface CallRow extends Generation {
  readonly attempt: number;
  readonly step: string;
  readonly key: string;
}

export interface StepRow extends Generation {
  readonly attempt: number;
  readonly step: string;
  readonly result: string;
}

interface HistoryRow extends Generation {
  readonly was: string | null;
  readonly isNow: string | null;
}

interface EmittedRow extends Generation {
  readonly parent: Generation;
}

export interface Evidence {
  readonly environment: FaultEnvironment;
  readonly log: ClientLog;
  readonly rows: readonly LedgerRow[];
  readonly effects: readonly EffectRow[];
  readonly emitted: readonly EmittedRow[];
  readonly history: readonly HistoryRow[];
  readonly starts: readonly StartRow[];
  readonly calls: readonly CallRow[];
  readonly steps: readonly StepRow[];
  readonly failedAttempts: ReadonlyMap<string, number>;
  readonly queues: QueueDump;
  readonly notDrained: string | undefined;
  readonly lags: Lags;
  readonly stretches?: Stretches | undefined;
}

export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Stretches {
  readonly quiet: Stretch;
  readonly struck: Stretch;
}

export function generationOf({ source, id, generation }: Generation): string {
  return `${source}/${id}/${generation}`;
}

export async function gatherEvidence(
  seen: Pick<Evidence, "environment" | "log" | "notDrained" | "lags" | "stretches">,
): Promise<Evidence> {
  const { environment } = seen;
  const all = async <Row>(text: string) => (await environment.database.query(text)).rows as Row[];
  const failed = await all<Generation & { count: number }>(
    `select source, event_id as id, generation, count(*)::int from millrace.attempts group by 1, 2, 3`,
  );
  return {
    ...seen,
    rows: await all(
      `select source, event_id as id, generation, type, status, outcome, attempts, last_error_code as code from millrace.events`,
    ),
    effects: await all(
      `select source, event_id as id, generation, attempt, answers from proof.effects`,
    ),
    emitted: await all(
      `select source, event_id as id, generation, json_build_object('source', parent_source,
         'id', parent_event_id, 'generation', parent_generation) as parent
       from millrace.events where parent_source is not null and generation = 0`,
    ),
    history: await all(
      `select source, event_id as id, generation, was, is_now as "isNow" from proof.history order by number`,
    ),
    starts: await readStarts(environment.folder),
    calls: await readCalls(environment.folder),
    steps: await all(
      `select source, event_id as id, generation, attempt, name as step, result from millrace.steps`,
    ),
    failedAttempts: new Map(failed.map((row) => [generationOf(row), row.count])),
    queues: await readQueues(environment),
  };
}

async function readStarts(folder: string): Promise<StartRow[]> {
  const lines = (await readLines(folder, "starts-")) as [string, string, ...number[]][];
  return lines.map(([source, id, ...[generation = 0, attempt = 0, pid = 0, given = 0]]) => {
    return { source, id, generation, attempt, pid, given };
  });
}

async function readCalls(folder: string): Promise<CallRow[]> {
  const lines = (await readLines(folder, "calls-")) as [
    string,
    string,
    number,
    number,
    string,
    string,
  ][];
  return lines.map(([source, id, generation, attempt, step, key]) => {
    return { source, id, generation, attempt, step, key };
  });
}

async function readLines(folder: string, prefix: string): Promise<unknown[]> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((text) => text.split("\n")).flatMap(readLine);
}

// The last line of a process that was killed may be half a line.
function readLine(line: string): unknown[] {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}

interface QueueDump {
  readonly failed: ReadonlySet<string>;
  readonly text: string;
}

const SOURCES = ["steady", "frail", "hub", "relay"];
const LIVE = ["wait", "active", "delayed", "prioritized", "paused"];

export async function readQueues({ urls, database }: FaultEnvironment): Promise<QueueDump> {
  if (urls.redisUrl !== undefined) return await withRedis(urls.redisUrl, readRedis);
  const { rows } = await database.query(
    "select queue, id, state::text, job::text as text from bullmq.job",
  );
  const failed = rows.filter(({ state }) => state === "failed");
  return {
    failed: new Set(failed.map(({ queue, id }) => `${queue.slice("millrace-".length)}/${id}`)),
    text: rows.map(({ text }) => text).join("\n"),
  };
}

async function readRedis(client: Redis): Promise<QueueDump> {
  const failed = await Promise.all(
    SOURCES.map(async (source) => {
      const ids = await client.zrange(keyOf(source, "failed"), 0, -1);
      return ids.map((id) => `${source}/${id}`);
    }),
  );
  return { failed: new Set(failed.flat()), text: await redisText(client) };
}

export async function countLive({ urls, count }: FaultEnvironment): Promise<number> {
  if (urls.redisUrl !== undefined) return await withRedis(urls.redisUrl, countLiveOn);
  return await count("bullmq.job where state::text not in ('completed', 'failed')");
}

async function countLiveOn(client: Redis): Promise<number> {
  const counts = await Promise.all(
    SOURCES.flatMap((source) => LIVE.map((state) => countOf(client, keyOf(source, state)))),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

async function countOf(client: Redis, key: string): Promise<number> {
  const type = await client.type(key);
  if (type === "list") return await client.llen(key);
  return type === "zset" ? await client.zcard(key) : 0;
}

function keyOf(source: string, part: string): string {
  return `bull:millrace-${source}:${part}`;
}

type Lags = ReturnType<typeof watchLags>;

const EVERY_MS = 50;
const USUAL_MS = 30;

export function watchLags() {
  const lags: { atMs: number; lateMs: number }[] = [];
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const lateMs = nowMs - lastMs - EVERY_MS;
    lastMs = nowMs;
    if (lateMs > USUAL_MS) lags.push({ atMs: nowMs, lateMs });
  }, EVERY_MS);
  return {
    worstMs: (fromMs: number, toMs: number) =>
      lags
        .filter(({ atMs, lateMs }) => atMs >= fromMs && atMs - lateMs <= toMs)
        .reduce((worst, { lateMs }) => Math.max(worst, lateMs), 0),
    close: () => clearInterval(timer),
  };
}
