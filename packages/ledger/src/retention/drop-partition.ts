import { failpoint } from "@millrace/core";
import type pg from "pg";
import { ledgerError } from "../connection/database-errors.ts";
import { acquireConnection } from "../connection/connection.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { tableOf, type BodyPartition } from "./body-partitions.ts";

export interface DropOptions {
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
