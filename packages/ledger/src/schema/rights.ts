import type pg from "pg";
import { throwLedgerError } from "../connection/database-errors.ts";

export type RightsRole = "ingress" | "worker" | "retention" | "dashboard";

/** The tables of each role by its rights on them, as roles.sql grants them. */
const NEEDS: Readonly<Record<RightsRole, readonly [rights: string, tables: string][]>> = {
  ingress: [
    ["SELECT", "migrations identity"],
    ["SELECT INSERT", "bodies"],
    ["SELECT INSERT UPDATE", "events conflicts deliveries refusals"],
  ],
  worker: [
    ["SELECT", "migrations deliveries"],
    ["SELECT INSERT", "bodies attempts steps"],
    ["SELECT UPDATE", "identity bulk_runs"],
    ["SELECT DELETE", "refusals"],
    ["SELECT INSERT DELETE", "activity"],
    ["SELECT INSERT UPDATE", "events conflicts errors error_counts queue_epochs leaders"],
    ["SELECT INSERT UPDATE", "bulk_members activity_progress"],
  ],
  retention: [
    ["SELECT", "migrations"],
    ["SELECT DELETE", "attempts steps conflicts deliveries errors error_counts"],
    ["SELECT DELETE", "bulk_runs bulk_members"],
    ["SELECT INSERT UPDATE", "leaders"],
    ["SELECT UPDATE DELETE", "events"],
  ],
  dashboard: [
    ["SELECT", "migrations identity attempts conflicts deliveries steps error_counts"],
    ["SELECT", "queue_epochs leaders bulk_members activity activity_progress refusals"],
    ["SELECT INSERT", "bodies audit audit_results"],
    ["SELECT UPDATE", "errors"],
    ["SELECT INSERT UPDATE", "events bulk_runs"],
    ["SELECT INSERT UPDATE DELETE", "sessions"],
  ],
};

/** By the catalog. A missing table is no missing right. */
const MISSING = `
SELECT need."right" || ' on millrace.' || need.name AS missing
FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS need (name, "right", number)
JOIN pg_catalog.pg_namespace n ON n.nspname = 'millrace'
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = need.name
JOIN pg_catalog.pg_roles r ON r.rolname = coalesce($1::name, current_user)
WHERE NOT (
  has_schema_privilege(r.oid, n.oid, 'USAGE')
  AND CASE need."right"
    WHEN 'DELETE' THEN has_table_privilege(r.oid, c.oid, 'DELETE')
    ELSE has_any_column_privilege(r.oid, c.oid, need."right")
  END
)
ORDER BY need.number`;

/** Names what a login lacks, as `INSERT on millrace.attempts`; nothing for an unknown login. */
export async function missingRights(
  connection: Pick<pg.Pool, "query">,
  role: RightsRole,
  login?: string,
): Promise<string[]> {
  const needs = NEEDS[role].flatMap(([rights, tables]) =>
    tables.split(" ").flatMap((table) => rights.split(" ").map((right) => ({ table, right }))),
  );
  const values = [login ?? null, needs.map(({ table }) => table), needs.map(({ right }) => right)];
  const asked = connection.query<{ missing: string }>(MISSING, values);
  const { rows } = await asked.catch(throwLedgerError);
  return rows.map(({ missing }) => missing);
}
