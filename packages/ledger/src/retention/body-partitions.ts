import { MillraceError } from "@millrace/core";
import type pg from "pg";
import { LIST_PARTITIONS } from "../sql/retention/list-partitions.ts";
import { runStatement } from "../transaction.ts";
import { BATCH } from "./retention-times.ts";

/** The bodies of a day. */
export interface BodyPartition {
  /** Its table in the schema `millrace`. */
  readonly name: string;
  /** The day by the database's clock in UTC, `2026-11-21`. */
  readonly day: string;
  /** Whole days since, below 0 for the days ahead. */
  readonly ageDays: number;
  /** `detached` from the table of bodies, or about to be: somebody began to drop it. */
  readonly state: "attached" | "detaching" | "detached";
  /** On disk, with its indexes. */
  readonly bytes: number;
}

type Row = Omit<BodyPartition, "ageDays"> & { readonly age_days: number };

/**
 * Lists the partitions of bodies, oldest first.
 *
 * @throws `database_unavailable`
 */
export async function listPartitions(pool: pg.Pool): Promise<readonly BodyPartition[]> {
  const { rows } = await runStatement<Row>(pool, { text: LIST_PARTITIONS }, BATCH);
  return rows.map(({ age_days: ageDays, ...row }) => ({ ...row, ageDays }));
}

/** The partition's name, once it is certain that it is one: it becomes part of a statement. */
export function tableOf({ name }: Pick<BodyPartition, "name">): string {
  if (/^bodies_\d{8}$/.test(name)) return name;
  throw new MillraceError("internal", `Cannot use ${JSON.stringify(name)} as a day of bodies`);
}
