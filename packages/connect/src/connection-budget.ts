import { MillraceError, readPoolName, type Config } from "@millrace/core";
import { readServerFacts, type createPool, type ServerFacts } from "@millrace/ledger";
import { connectionsWanted } from "@millrace/queue";
import type { Finding } from "./check-database.ts";

type Pool = ReturnType<typeof createPool>;

/** One for deliveries; the rest for late calls, two retries of redeliveries, marks, and checks. */
export const ingressConnections = 4;

export const dashboardConnections = 4;

export const cliConnections = 2;

export const retentionConnections = 2;

/** Two batches, a failure, the readiness check, reconciler, retention, and their leadership. */
const BESIDES_HANDLERS = 8;

export function workerConnections(concurrency: number): number {
  return concurrency + BESIDES_HANDLERS;
}

/** Requires that this worker alone fits Postgres' limit. @throws `too_many_connections` */
export function checkConnections(
  facts: ServerFacts,
  config: Pick<Config, "worker">,
  options: { queuesOnPostgres: boolean },
): void {
  const finding = workerFinding(givenBy(facts), config, options);
  if (finding === undefined) return;
  throw new MillraceError(
    "too_many_connections",
    `Cannot start the worker: ${finding.detail}. ${finding.fix}`,
  );
}

export function workerFinding(
  given: number,
  { worker }: Pick<Config, "worker">,
  options: { queuesOnPostgres: boolean },
): Finding | undefined {
  const ofQueues = options.queuesOnPostgres ? connectionsWanted("worker") : 0;
  const wanted = workerConnections(worker.concurrency) + ofQueues;
  if (wanted <= given) return undefined;
  return {
    detail: `it may need ${wanted} connections and Postgres gives ${given}`,
    fix: "Lower worker.concurrency in the config, or raise max_connections",
  };
}

export async function connectionsGiven(pool: Pool): Promise<number> {
  return givenBy(await readServerFacts(pool));
}

function givenBy({ maxConnections, reservedConnections }: ServerFacts): number {
  return maxConnections - reservedConnections;
}

export interface ConnectionUse {
  readonly given: number;
  /** Where `given` comes from. */
  readonly limit: string;
  readonly held: ReadonlyMap<string, number>;
  /** Pools of Millrace that hold a connection now, and connections that all of them may take. */
  readonly pools: number;
  readonly mayTake: number;
  readonly others: number;
}

/** Any login may see who holds connections. A walsender takes none of `max_connections`. */
const HELD = `
SELECT usename AS login, coalesce(application_name, '') AS name, count(*)::int AS count
FROM pg_catalog.pg_stat_activity
WHERE usesysid IS NOT NULL AND datid IS NOT NULL
  AND coalesce(backend_type, 'client backend') = 'client backend'
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`;

type HeldRow = Readonly<{ login: string; name: string; count: number }>;

/** The limit with the least left. A pool without a connection is not seen. */
export async function readConnectionUse(pool: Pool): Promise<ConnectionUse> {
  const facts = await readServerFacts(pool);
  const { login, loginLimit, maxConnections, reservedConnections } = facts;
  const { rows } = await pool.query<HeldRow>(HELD);
  const limit = `max_connections is ${maxConnections}, and ${reservedConnections} are reserved`;
  const ofServer = useOf(rows, givenBy(facts), limit);
  if (loginLimit < 0) return ofServer;
  const own = rows.filter((row) => row.login === login);
  const ofLogin = useOf(own, loginLimit, `the CONNECTION LIMIT of the login "${login}"`);
  return left(ofLogin) < left(ofServer) ? ofLogin : ofServer;
}

const left = ({ given, mayTake, others }: ConnectionUse): number => given - mayTake - others;

function useOf(rows: readonly HeldRow[], given: number, limit: string): ConnectionUse {
  const held = new Map<string, number>();
  let [pools, mayTake, others] = [0, 0, 0];
  for (const { name, count } of rows) {
    const pool = readPoolName(name);
    const holder = pool?.name ?? name;
    held.set(holder, (held.get(holder) ?? 0) + count);
    if (pool === undefined) {
      others += count;
    } else {
      pools += 1;
      mayTake += pool.connectionsMax;
    }
  }
  return { given, limit, held, pools, mayTake, others };
}

export function connectionFinding(use: ConnectionUse): Finding | undefined {
  const { given, limit, pools, mayTake, others } = use;
  if (left(use) >= 0) return undefined;
  return {
    detail:
      `${pools} pools of Millrace may take ${mayTake} connections and others hold ${others}, ` +
      `but Postgres gives ${given} (${limit})`,
    fix: "Raise max_connections, lower worker.concurrency, or run fewer workers",
  };
}
