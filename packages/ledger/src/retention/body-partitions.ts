import { failpoint, MillraceError } from "@millrace/core";
import type pg from "pg";
import { acquireConnection } from "../connection/connection.ts";
import { ledgerError } from "../connection/database-errors.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { INDEXED_ONLY, runStatement, type TransactionOptions } from "../connection/transaction.ts";

export const BATCH: TransactionOptions = {
  statementTimeoutMs: 60_000,
  lockTimeoutMs: 2_000,
  idleTimeoutMs: 60_000,
  planning: INDEXED_ONLY,
  deadlineMs: 65_000,
};

export const COUNT = { ...BATCH, statementTimeoutMs: 600_000, deadlineMs: 610_000 };

export interface BodyPartition {
  readonly name: string;
  /** The day by the database's clock in UTC, `2026-11-21`. */
  readonly day: string;
  /** Whole days since, below 0 for the days ahead. */
  readonly ageDays: number;
  /** `detached` or `detaching` from the table of bodies: a drop of it has begun. */
  readonly state: "attached" | "detaching" | "detached";
  readonly bytes: number;
}

/** The partitions of bodies, oldest first. A detached partition is included until it is dropped. */
const LIST_PARTITIONS = `
WITH found AS (
  SELECT c.oid, c.relname::text AS name, to_date(substr(c.relname, 8), 'YYYYMMDD') AS day,
    CASE
      WHEN i.inhparent IS NULL THEN 'detached'
      WHEN i.inhdetachpending THEN 'detaching'
      ELSE 'attached'
    END AS state
  FROM pg_catalog.pg_class c
  LEFT JOIN pg_catalog.pg_inherits i
    ON i.inhrelid = c.oid AND i.inhparent = 'millrace.bodies'::regclass
  WHERE c.relnamespace = 'millrace'::regnamespace AND c.relkind = 'r'
    AND c.relname ~ '^bodies_[0-9]{8}$'
)
SELECT name, day::text AS day, state, (now() AT TIME ZONE 'UTC')::date - day AS "ageDays",
  pg_catalog.pg_total_relation_size(oid)::float8 AS bytes
FROM found ORDER BY day`;

export async function listPartitions(pool: pg.Pool): Promise<readonly BodyPartition[]> {
  return (await runStatement<BodyPartition>(pool, { text: LIST_PARTITIONS }, BATCH)).rows;
}

/** The name of a partition, checked, because it becomes part of a statement. */
export function tableOf({ name }: Pick<BodyPartition, "name">): string {
  if (/^bodies_\d{8}$/.test(name)) return name;
  throw new MillraceError("internal", `Cannot use ${JSON.stringify(name)} as a day of bodies`);
}

const IS_MOVED = "body_day <> (recorded_at AT TIME ZONE 'UTC')::date";

const IS_RECORDED_THEN = `body_day = $1::date
    AND recorded_at >= $1::date::timestamp AT TIME ZONE 'UTC'
    AND recorded_at < ($1::date + 1)::timestamp AT TIME ZONE 'UTC'`;

const IS_MOVED_THERE = `body_day = $1::date AND ${IS_MOVED}`;

/** Each condition of a body of the day $1 has an index; they exclude each other. */
export const OF_DAY = { recordedThen: IS_RECORDED_THEN, movedThere: IS_MOVED_THERE } as const;

interface DropOptions {
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** `busy` while transactions use the table: call it again. @throws the signal's reason */
export async function detachPartition(
  pool: pg.Pool,
  partition: BodyPartition,
  options: DropOptions,
): Promise<"detached" | "busy"> {
  if (partition.state === "detached") return "detached";
  // A plain DETACH would wait for the transactions of all handlers and block every insert after it.
  const how = partition.state === "detaching" ? "FINALIZE" : "CONCURRENTLY";
  const done = await alter(
    pool,
    `ALTER TABLE millrace.bodies DETACH PARTITION millrace.${tableOf(partition)} ${how}`,
    options,
  );
  if (done) failpoint("retention.detached");
  return done ? "detached" : "busy";
}

/** `busy` while a transaction reads it. @throws the signal's reason */
export async function dropPartition(
  pool: pg.Pool,
  partition: BodyPartition,
  options: DropOptions,
): Promise<"dropped" | "busy"> {
  const text = `DROP TABLE IF EXISTS millrace.${tableOf(partition)}`;
  return (await alter(pool, text, options)) ? "dropped" : "busy";
}

/** Runs a statement that must not run in a transaction; false when it could not get a lock. */
async function alter(
  pool: pg.Pool,
  text: string,
  { waitMs, signal }: DropOptions,
): Promise<boolean> {
  signal?.throwIfAborted();
  const connection = await acquireConnection(pool);
  const stop = () => connection.destroy();
  signal?.addEventListener("abort", stop, { once: true });
  // The settings last as long as the session, so it is not reused.
  connection.discard();
  try {
    await connection.client.query(`SET lock_timeout = ${waitMs}`);
    await connection.client.query(`SET statement_timeout = ${2 * waitMs}`);
    await connection.client.query(text);
    return true;
  } catch (error) {
    const state = sqlStateOf(error);
    const isBusy = state === SQLSTATE.lockNotAvailable || state === SQLSTATE.queryCanceled;
    if (isBusy && !connection.broken) return false;
    signal?.throwIfAborted();
    throw ledgerError(error);
  } finally {
    signal?.removeEventListener("abort", stop);
    connection.release();
  }
}
