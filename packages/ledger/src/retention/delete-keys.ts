import { failpoint } from "@millrace/core";
import type pg from "pg";
import { COUNT_EXPIRED_KEYS, DELETE_KEYS } from "../sql/retention/expired-keys.ts";
import { runStatement } from "../transaction.ts";
import { BATCH, COUNT } from "./retention-times.ts";

/** Which events may be forgotten. */
export interface ExpiredKeys {
  /** Days since the event was completed, in its last generation. A day is added to it. */
  readonly keysDays: number;
  /** The oldest day whose bodies are kept: an event is known for as long as its body is there. */
  readonly bodiesFrom: string;
}

/** One batch, and where the next one goes on. */
export interface DeletedKeys {
  readonly deleted: number;
  /** Undefined when there are no more. */
  readonly next: string | undefined;
}

const IDENTITIES_MAX = 1_000;

/**
 * Deletes a batch of completed events past their time, with all that is known of them.
 *
 * @throws `database_unavailable`; then the batch is undone, and nothing else.
 */
export async function deleteKeys(
  pool: pg.Pool,
  expired: ExpiredKeys,
  from = "-infinity",
): Promise<DeletedKeys> {
  const values = [expired.keysDays, expired.bodiesFrom, from, IDENTITIES_MAX];
  const { rows } = await runStatement<{ deleted: string; reached: string | null }>(
    pool,
    { text: DELETE_KEYS, values },
    BATCH,
  );
  failpoint("retention.keys_deleted");
  return { deleted: Number(rows[0]?.deleted), next: rows[0]?.reached ?? undefined };
}

/**
 * Counts what would be deleted.
 *
 * @throws `database_unavailable`
 */
export async function countExpiredKeys(pool: pg.Pool, expired: ExpiredKeys): Promise<number> {
  const { rows } = await runStatement<{ count: string }>(
    pool,
    { text: COUNT_EXPIRED_KEYS, values: [expired.keysDays, expired.bodiesFrom, "-infinity"] },
    COUNT,
  );
  return Number(rows[0]?.count);
}
