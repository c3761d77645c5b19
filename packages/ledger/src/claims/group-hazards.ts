import { queryRows, type LedgerContext } from "../connection/ledger-context.ts";

/** No statement shows them: policies that read settings, functions that set some until the end. */
const HAZARDS = `
SELECT format('table %I.%I has row-level security', n.nspname, c.relname) AS hazard
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relrowsecurity AND n.nspname !~ '^(pg_|information_schema$|millrace$|bullmq$)'
UNION ALL
SELECT format('function %I.%I may change settings, locks or temporary tables', n.nspname, p.proname)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname !~ '^(pg_|information_schema$|millrace$|bullmq$)'
  AND p.prosrc ~* '(set_config|advisory|[[:<:]]temp(orary)?[[:>:]]|pg_temp|(^|;|[[:<:]](begin|then|else|loop)[[:>:]])[[:space:]]*set[[:space:]])'
  AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_depend d
    WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
  )
ORDER BY hazard
LIMIT 5`;

export async function groupHazards(ledger: LedgerContext): Promise<readonly string[]> {
  const rows = await queryRows<{ hazard: string }>(ledger, HAZARDS);
  return rows.map(({ hazard }) => hazard);
}
