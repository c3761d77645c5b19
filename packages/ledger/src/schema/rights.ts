import type pg from "pg";
import { throwLedgerError } from "../connection/database-errors.ts";

export type RightsRole = "ingress" | "worker" | "retention" | "dashboard";

type Right = "SELECT" | "INSERT" | "UPDATE" | "DELETE";

const NEEDS: Readonly<Record<RightsRole, Readonly<Record<string, readonly Right[]>>>> = {
  ingress: {
    migrations: ["SELECT"],
    identity: ["SELECT"],
    events: ["SELECT", "INSERT", "UPDATE"],
    bodies: ["SELECT", "INSERT"],
    conflicts: ["SELECT", "INSERT", "UPDATE"],
    deliveries: ["SELECT", "INSERT", "UPDATE"],
    refusals: ["SELECT", "INSERT", "UPDATE"],
  },
  worker: {
    migrations: ["SELECT"],
    identity: ["SELECT", "UPDATE"],
    events: ["SELECT", "INSERT", "UPDATE"],
    bodies: ["SELECT", "INSERT"],
    attempts: ["SELECT", "INSERT"],
    conflicts: ["SELECT", "INSERT", "UPDATE"],
    deliveries: ["SELECT"],
    queue_epochs: ["SELECT", "INSERT", "UPDATE"],
    bulk_runs: ["SELECT", "UPDATE"],
    bulk_members: ["SELECT", "INSERT", "UPDATE"],
    activity: ["SELECT", "INSERT", "DELETE"],
    activity_progress: ["SELECT", "INSERT", "UPDATE"],
    refusals: ["SELECT", "DELETE"],
  },
  retention: {
    events: ["SELECT", "UPDATE", "DELETE"],
    attempts: ["SELECT", "DELETE"],
    conflicts: ["SELECT", "DELETE"],
    deliveries: ["SELECT", "DELETE"],
    bulk_runs: ["SELECT", "DELETE"],
    bulk_members: ["SELECT", "DELETE"],
  },
  dashboard: {
    migrations: ["SELECT"],
    identity: ["SELECT"],
    events: ["SELECT", "INSERT", "UPDATE"],
    bodies: ["SELECT"],
    attempts: ["SELECT"],
    conflicts: ["SELECT"],
    deliveries: ["SELECT"],
    steps: ["SELECT"],
    queue_epochs: ["SELECT"],
    audit: ["SELECT", "INSERT"],
    sessions: ["SELECT", "INSERT", "UPDATE"],
    bulk_runs: ["SELECT", "INSERT", "UPDATE"],
    bulk_members: ["SELECT"],
    activity: ["SELECT"],
    activity_progress: ["SELECT"],
    refusals: ["SELECT"],
  },
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
  const needs = Object.entries(NEEDS[role]).flatMap(([table, rights]) =>
    rights.map((right) => ({ table, right })),
  );
  const values = [login ?? null, needs.map(({ table }) => table), needs.map(({ right }) => right)];
  const asked = connection.query<{ missing: string }>(MISSING, values);
  const { rows } = await asked.catch(throwLedgerError);
  return rows.map(({ missing }) => missing);
}
