import { until } from "../../support/until.ts";
import type { Evidence } from "./evidence.ts";
import type { Finding } from "./finding.ts";

const INVARIANT = "I10 NO LEAK";
/** What a role's pools may hold at the most: concurrency 8 and 4 beside, its queue's, a leader's. */
const CONNECTIONS_MAX = { worker: 12 + 14, ingress: 4 + 14, dashboard: 10 + 14 };
const REST_MS = 15_000;

/** I10: at rest no connection is in a transaction, and no role has more of them than its pools allow. */
export async function checkLeaks({ stage }: Evidence): Promise<Finding[]> {
  const allowed = stage.roles
    .filter(({ up }) => up)
    .reduce((sum, { kind }) => sum + CONNECTIONS_MAX[kind], 0);
  const findings: Finding[] = [];
  // The server may not have noticed yet that a process which was killed is gone.
  await until(
    () => connectionsOf(stage).then(({ total, open }) => total <= allowed && open === 0),
    {
      withinMs: REST_MS,
    },
  ).catch(async () => {
    const { total, open } = await connectionsOf(stage);
    const text = `${total} connections where pools allow ${allowed}, ${open} of them in a transaction`;
    findings.push({ invariant: INVARIANT, text });
  });
  return findings;
}

async function connectionsOf(stage: Evidence["stage"]): Promise<{ total: number; open: number }> {
  const { rows } = await stage.database.query(
    `select count(*)::int as total,
       count(*) filter (where state like 'idle in transaction%'
         or (state = 'active' and now() - query_start > interval '2 seconds'))::int as open
     from pg_stat_activity where application_name like 'millrace-%'`,
  );
  return rows[0];
}
