import { failpoint } from "@millrace/core";
import type pg from "pg";
import { ledgerError } from "../database-trouble.ts";
import { lease, type Lease } from "../lease.ts";
import { SQLSTATE, sqlStateOf } from "../sqlstate.ts";
import { tableOf, type BodyPartition } from "./body-partitions.ts";

/** What a drop waits for, and who may stop it. */
export interface DropOptions {
  /** Milliseconds that it waits for those who use the partition. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes a partition off the table of bodies. It waits for the transactions that use the table just
 * now, without being in the way of those that come after: `busy` when they do not end in time. Then
 * the bodies may be out of sight already, and another call goes on from there.
 *
 * @throws `database_unavailable`, the signal's reason
 */
export async function detachPartition(
  pool: pg.Pool,
  partition: BodyPartition,
  options: DropOptions,
): Promise<"detached" | "busy"> {
  if (partition.state === "detached") return "detached";
  // An ordinary DETACH would wait for every handler's transaction and hold up each insert behind it.
  const how = partition.state === "detaching" ? "FINALIZE" : "CONCURRENTLY";
  const done = await alter(
    pool,
    `ALTER TABLE millrace.bodies DETACH PARTITION millrace.${tableOf(partition)} ${how}`,
    options,
  );
  if (done) failpoint("retention.detached");
  return done ? "detached" : "busy";
}

/**
 * Drops a partition that was taken off its table; `busy` when somebody reads it.
 *
 * @throws `database_unavailable`, the signal's reason
 */
export async function dropPartition(
  pool: pg.Pool,
  partition: BodyPartition,
  options: DropOptions,
): Promise<"dropped" | "busy"> {
  const text = `DROP TABLE IF EXISTS millrace.${tableOf(partition)}`;
  return (await alter(pool, text, options)) ? "dropped" : "busy";
}

/** Runs a statement that wants no transaction around it; false when a lock was not to be had. */
async function alter(
  pool: pg.Pool,
  text: string,
  { waitMs, signal }: DropOptions,
): Promise<boolean> {
  signal?.throwIfAborted();
  const held = await lease(pool);
  const stop = () => held.destroy();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await alterOn(held, text, waitMs);
  } catch (error) {
    signal?.throwIfAborted();
    throw ledgerError(error);
  } finally {
    signal?.removeEventListener("abort", stop);
    held.release();
  }
}

async function alterOn(held: Lease, text: string, waitMs: number): Promise<boolean> {
  // The settings last as long as the session, so nobody else gets it.
  held.spoil();
  await held.client.query(`SET lock_timeout = ${waitMs}`);
  await held.client.query(`SET statement_timeout = ${2 * waitMs}`);
  try {
    await held.client.query(text);
    return true;
  } catch (error) {
    const state = sqlStateOf(error);
    const isBusy = state === SQLSTATE.lockNotAvailable || state === SQLSTATE.queryCanceled;
    if (isBusy && !held.broken) return false;
    throw error;
  }
}
