import {
  connectionFinding,
  connectionsGiven,
  readConnectionUse,
  requireServer,
  retentionFinding,
  sessionFinding,
  settingFindings,
  workerFinding,
  type Finding,
} from "@millrace/connect";
import {
  connectionHint,
  isMillraceError,
  matchesType,
  nearest,
  type Config,
  type DatabaseVariable,
  type Handler,
} from "@millrace/core";
import {
  checkSchema,
  findPooler,
  LATEST_EVENTS,
  latestTypes,
  misplacedTables,
  missingRights,
  readServerFacts,
  type Pooler,
} from "@millrace/ledger";
import { reasonOf } from "@millrace/service";
import type { MigrationPart } from "../commands/migrate.ts";
import { withPool, type Pool, type Stores } from "../stores.ts";
import { bad, judged, note, ok, type Check, type Seen } from "./report.ts";

export type StoresChecked = Stores & {
  readonly pool: Pool;
  readonly config: Config;
  readonly handlers: readonly Handler[];
  readonly parts: readonly MigrationPart[];
};

export const ANSWERS = ["postgres", "ok", "note", "bad"] as const;
const HAS_TABLES = ["schema", "ok"] as const;

export const POSTGRES_CHECKS: readonly Check<StoresChecked>[] = [
  { name: "postgres", run: checkPostgres },
  { name: "connections", run: checkConnections, needs: ANSWERS },
  { name: "standby", run: checkStandby, needs: ANSWERS },
  { name: "session", run: checkSession, needs: ANSWERS },
  { name: "schema", run: (on) => checkTables(on, "ledger"), needs: ANSWERS },
  { name: "your tables", run: (on) => checkTables(on, "your tables"), needs: ANSWERS },
  {
    name: "rights",
    run: checkRights,
    advice: "Run infra/postgres/roles.sql again: after each `millrace migrate`",
    needs: ANSWERS,
  },
  { name: "misplaced tables", run: checkMisplaced, needs: ANSWERS },
  { name: "retention", run: checkRetention, needs: HAS_TABLES },
  {
    name: "event types",
    run: checkTypes,
    advice: "Correct the type in `on`; if it is right, add it to `types` of the source",
    needs: HAS_TABLES,
  },
];

async function checkPostgres({ pool, config }: StoresChecked): Promise<Seen> {
  const facts = await readServerFacts(pool);
  try {
    requireServer(facts);
  } catch (error) {
    if (isMillraceError(error)) return bad(error.message);
    throw error;
  }
  const { version, isStandby, isReadOnly } = facts;
  const findings = settingFindings(facts, config.worker);
  if (isStandby) findings.push(STANDBY);
  else if (isReadOnly) findings.push(readOnly(facts.login));
  const pooler = await findPooler(pool);
  const behind = pooler === "none" ? "" : `, behind a pooler (${pooler} pooling)`;
  return judged(`version ${version}${behind}`, findings);
}

const STANDBY: Finding = {
  detail: "it is a standby and takes no writes",
  fix: "Name the primary in DATABASE_URL, or promote this one",
};

const readOnly = (login: string): Finding => ({
  detail: "default_transaction_read_only is on, so nothing can be written",
  fix: `ALTER ROLE "${login}" SET default_transaction_read_only = off`,
});

async function checkConnections({ pool, config, REDIS_URL }: StoresChecked): Promise<Seen> {
  const use = await readConnectionUse(pool);
  const { given, held, pools, mayTake } = use;
  const holders = [...held].map(([name, count]) => `${name || "unnamed"} ${count}`);
  const sum = [...held.values()].reduce((total, count) => total + count, 0);
  const options = { queuesOnPostgres: REDIS_URL === undefined };
  const alone = workerFinding(await connectionsGiven(pool), config, options);
  const ofOne = alone && { ...alone, detail: `a worker does not start: ${alone.detail}` };
  const findings = [ofOne, connectionFinding(use)].filter((each) => each !== undefined);
  const detail = `${sum} of ${given} in use (${holders.join(", ")}); ${pools} pools of Millrace that are connected may take ${mayTake}`;
  return judged(detail, findings);
}

/** Commits survive the loss of the primary, where a standby streams from it. */
async function checkStandby({ pool }: StoresChecked): Promise<Seen | undefined> {
  const facts = await readServerFacts(pool);
  const { standbys, synchronousStandbyNames: names, synchronousCommit } = facts;
  if (standbys === 0) return undefined;
  const count = standbys === 1 ? "1 standby streams" : `${standbys} standbys stream`;
  if (names !== "" && !["off", "local"].includes(synchronousCommit)) {
    return ok(`${count}, and commits wait for ${names} (synchronous_commit ${synchronousCommit})`);
  }
  return note(
    `${count}, and commits do not wait for it: a failover loses what it does not have yet, and events with ack: "ledger" too`,
    names === ""
      ? "Set synchronous_standby_names, such as 'ANY 1 (*)', or accept the loss"
      : "Set synchronous_commit = on, or accept the loss",
  );
}

// No pooler shares the connections of the retention and of queues on Postgres, which need sessions.
// Reported only where one of them has its own URL, or Postgres is behind a pooler.
async function checkSession(on: StoresChecked): Promise<Seen | undefined> {
  const ofQueue = on.DATABASE_SESSION_URL === undefined ? "DATABASE_URL" : "DATABASE_SESSION_URL";
  const ofRetention = on.RETENTION_DATABASE_URL === undefined ? ofQueue : "RETENTION_DATABASE_URL";
  const users: [who: string, variable: DatabaseVariable, fits: (is: Pooler) => boolean][] = [
    ["the retention", ofRetention, (is) => is !== "transaction"],
  ];
  if (on.REDIS_URL === undefined) users.push(["the queue", ofQueue, (is) => is === "none"]);
  const seen = new Map<DatabaseVariable, Pooler>();
  for (const [who, variable, fits] of users) {
    try {
      const pooler = seen.get(variable) ?? (await poolerOf(on, variable));
      seen.set(variable, pooler);
      if (fits(pooler)) continue;
      const { detail, fix } = sessionFinding(who, variable);
      return bad(detail, fix);
    } catch (error) {
      const fix = connectionHint(error, variable);
      return { state: "unknown", detail: reasonOf(error), fix };
    }
  }
  const others = [...seen.keys()].filter((variable) => variable !== "DATABASE_URL");
  return others.length === 0 ? undefined : ok(`by ${others.join(" and ")}`);
}

async function poolerOf(on: StoresChecked, variable: DatabaseVariable): Promise<Pooler> {
  const url = on[variable];
  if (variable === "DATABASE_URL" || url === undefined) return await findPooler(on.pool);
  return await withPool({ url, max: 2, applicationName: "millrace-doctor" }, findPooler);
}

async function checkTables({ pool, parts }: StoresChecked, name: MigrationPart["name"]) {
  const part = parts.find((one) => one.name === name);
  if (part === undefined) return undefined;
  try {
    await checkSchema(pool, part.options);
    return ok("up to date");
  } catch (error) {
    if (isMillraceError(error) && error.code.startsWith("migration_")) return bad(error.message);
    throw error;
  }
}

const ROLES = ["ingress", "worker", "retention", "dashboard"] as const;

/** Logins of roles.sql that are used on this database: logins are the whole server's. */
const LOGINS = `
SELECT r.rolname AS login FROM pg_catalog.pg_roles r JOIN pg_catalog.pg_namespace n ON n.nspname = 'millrace'
WHERE r.rolname = ANY ($1) AND has_schema_privilege(r.oid, n.oid, 'USAGE')`;

async function checkRights({ pool }: StoresChecked): Promise<Seen | undefined> {
  const names = ROLES.map((role) => `millrace_${role}`);
  const { rows } = await pool.query<{ login: string }>(LOGINS, [names]);
  if (rows.length === 0) return undefined;
  const used = ROLES.filter((role) => rows.some(({ login }) => login === `millrace_${role}`));
  const lacking: string[] = [];
  for (const role of used) {
    const missing = await missingRights(pool, role, `millrace_${role}`);
    if (missing.length > 0) lacking.push(`millrace_${role} lacks ${missing.join(", ")}`);
  }
  return lacking.length === 0
    ? ok(`${rows.length} logins have those of their roles`)
    : bad(lacking.join("; "));
}

/** Tables of the user in our schema, where a login named `millrace` makes them. */
async function checkMisplaced({ pool }: StoresChecked): Promise<Seen | undefined> {
  const tables = await misplacedTables(pool);
  if (tables.length === 0) return undefined;
  const names = tables.map((table) => `millrace.${table}`);
  return note(
    `${names.join(", ")}: not made by Millrace, in the schema that is its own. They are still found there`,
    `Move each to a schema of yours: ALTER TABLE ${names[0]} SET SCHEMA public`,
  );
}

/** This login can drop old bodies, where the retention has no other. */
async function checkRetention(on: StoresChecked): Promise<Seen | undefined> {
  if (on.RETENTION_DATABASE_URL !== undefined) return undefined;
  const finding = await retentionFinding(on.pool);
  return finding && note(finding.detail, finding.fix);
}

async function checkTypes(on: StoresChecked): Promise<Seen | undefined> {
  const { pool, config, handlers } = on;
  const strange = strangeTypes(handlers, config.sources, await latestTypes(pool));
  if (strange.length === 0) return undefined;
  const names = strange.map(({ sources, type, nearest: meant }) => {
    return `${sources.join("|")} ${type}${meant === undefined ? "" : ` (${meant}?)`}`;
  });
  return note(
    `handlers name types that are on no list and in none of the latest ${LATEST_EVENTS.toLocaleString("en")} events: ${names.join(", ")}`,
  );
}

/**
 * Types of `on` that no source of the handler lists (by provider or options) or has sent. If a
 * source lists nothing, only those that differ in up to two characters from one that came.
 * @internal
 */
export function strangeTypes(
  handlers: readonly Handler[],
  sources: Config["sources"],
  sent: ReadonlyMap<string, readonly string[]>,
) {
  const listed = new Map(
    Object.entries(sources).map(([name, { provider, options }]) => [
      name,
      [...(provider.types ?? []), ...(options.types ?? [])],
    ]),
  );
  return handlers.flatMap(({ sources: named, types }) => {
    const names = named.includes("*") ? [...listed.keys()] : named;
    const lists = names.map((name) => listed.get(name) ?? []);
    const isOpen = lists.some((list) => list.length === 0);
    const all = [...lists, ...names.map((name) => sent.get(name) ?? [])].flat();
    return types
      .filter((pattern) => !all.some((type) => matchesType(type, pattern)))
      .map((type) => ({
        sources: named,
        type,
        nearest: nearest(type, all, isOpen ? 2 : undefined),
      }))
      .filter((strange) => !isOpen || strange.nearest !== undefined);
  });
}
