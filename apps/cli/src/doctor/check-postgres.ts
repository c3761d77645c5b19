import {
  connectionFinding,
  connectionsGiven,
  readConnectionUse,
  requireServer,
  retentionFinding,
  settingFindings,
  workerFinding,
  type Finding,
  sessionFinding,
} from "@millrace/connect";
import {
  isMillraceError,
  type Config,
  connectionHint,
  type DatabaseVariable,
} from "@millrace/core";
import {
  findPooler,
  misplacedTables,
  missingRights,
  readServerFacts,
  createPool,
  type Pooler,
} from "@millrace/ledger";
import { reasonOf } from "@millrace/service";
import type { Stores } from "../stores.ts";
import { bad, check, checkIfAny, note, ok, type Check, type Seen } from "./report.ts";

type Pool = ReturnType<typeof createPool>;

/** Checks that Millrace can use this Postgres, and that its settings keep committed data. */
export function checkPostgres(pool: Pool, config: Config): Promise<Check> {
  return check("postgres", async () => {
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
    return asSeen(`version ${version}${behind}`, findings);
  });
}

const STANDBY: Finding = {
  detail: "it is a standby and takes no writes",
  fix: "Name the primary in DATABASE_URL, or promote this one",
};

const readOnly = (login: string): Finding => ({
  detail: "default_transaction_read_only is on, so nothing can be written",
  fix: `ALTER ROLE "${login}" SET default_transaction_read_only = off`,
});

function asSeen(detail: string, findings: readonly Finding[]): Seen {
  if (findings.length === 0) return ok(detail);
  const details = findings.map((finding) => finding.detail).join("; ");
  return bad(`${detail}: ${details}`, findings.map(({ fix }) => fix).join("; "));
}

/** Checks that Postgres has connections for one worker, and for the processes that run now. */
export function checkConnections(
  pool: Pool,
  config: Config,
  options: { queuesOnPostgres: boolean },
): Promise<Check> {
  return check("connections", async () => {
    const use = await readConnectionUse(pool);
    const { given, held, pools, mayTake } = use;
    const holders = [...held].map(([name, count]) => `${name || "unnamed"} ${count}`);
    const sum = [...held.values()].reduce((total, count) => total + count, 0);
    const alone = workerFinding(await connectionsGiven(pool), config, options);
    const ofOne = alone && { ...alone, detail: `a worker does not start: ${alone.detail}` };
    const findings = [ofOne, connectionFinding(use)].filter((each) => each !== undefined);
    const detail = `${sum} of ${given} in use (${holders.join(", ")}); ${pools} pools of Millrace that are connected may take ${mayTake}`;
    return asSeen(detail, findings);
  });
}

/** Checks that commits survive the loss of the primary, where a standby streams from it. */
export function checkStandby(pool: Pool): Promise<readonly Check[]> {
  return checkIfAny("standby", async () => {
    const facts = await readServerFacts(pool);
    const { standbys, synchronousStandbyNames: names, synchronousCommit } = facts;
    if (standbys === 0) return undefined;
    const count = standbys === 1 ? "1 standby streams" : `${standbys} standbys stream`;
    if (names !== "" && !["off", "local"].includes(synchronousCommit)) {
      return ok(
        `${count}, and commits wait for ${names} (synchronous_commit ${synchronousCommit})`,
      );
    }
    return note(
      `${count}, and commits do not wait for it: a failover loses what it does not have yet, and events with ack: "ledger" too`,
      names === ""
        ? "Set synchronous_standby_names, such as 'ANY 1 (*)', or accept the loss"
        : "Set synchronous_commit = on, or accept the loss",
    );
  });
}

const ROLES = ["ingress", "worker", "retention", "dashboard"] as const;

/** Logins of roles.sql that are used on this database: logins are the whole server's. */
const LOGINS = `
SELECT r.rolname AS login FROM pg_catalog.pg_roles r JOIN pg_catalog.pg_namespace n ON n.nspname = 'millrace'
WHERE r.rolname = ANY ($1) AND has_schema_privilege(r.oid, n.oid, 'USAGE')`;

/** Checks the rights of the logins that roles.sql makes, where there are such logins. */
export function checkRights(pool: Pool): Promise<readonly Check[]> {
  return checkIfAny("rights", async () => {
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
      : bad(
          lacking.join("; "),
          "Run infra/postgres/roles.sql again: after each `millrace migrate`",
        );
  });
}

/** Checks that a login can drop old bodies: this one, where the retention has no other. */
export function checkRetention(
  pool: Pool,
  retentionUrl: string | undefined,
): Promise<readonly Check[]> {
  return checkIfAny("retention", async () => {
    const finding = retentionUrl === undefined ? await retentionFinding(pool) : undefined;
    return finding && note(finding.detail, finding.fix);
  });
}

/** Tables of the user in our schema, where a login named `millrace` makes them. */
export function checkMisplaced(pool: Pool): Promise<readonly Check[]> {
  return checkIfAny("misplaced tables", async () => {
    const tables = await misplacedTables(pool);
    if (tables.length === 0) return undefined;
    const names = tables.map((table) => `millrace.${table}`);
    return note(
      `${names.join(", ")}: not made by Millrace, in the schema that is its own. They are still found there`,
      `Move each to a schema of yours: ALTER TABLE ${names[0]} SET SCHEMA public`,
    );
  });
}

/** URLs of Postgres in addition to `DATABASE_URL`. */
type Urls = Pick<Stores, "redisUrl" | "sessionUrl"> & {
  readonly retentionUrl: string | undefined;
};

/**
 * Checks that no pooler shares the connections of the retention and of queues on Postgres, which
 * need sessions. Only where one of them has its own URL, or Postgres is behind a pooler.
 */
export function checkSession(pool: Pool, urls: Urls): Promise<readonly Check[]> {
  return checkIfAny("session", async () => {
    const { retentionUrl, sessionUrl, redisUrl } = urls;
    const ofSession = ["DATABASE_SESSION_URL", sessionUrl] as const;
    const ofRetention = ["RETENTION_DATABASE_URL", retentionUrl] as const;
    const [forQueue = PRIMARY] = [ofSession].filter(isSet);
    const [forRetention = PRIMARY] = [ofRetention, ofSession].filter(isSet);
    const users = [
      { who: "the retention", named: forRetention, suffers: (is: Pooler) => is === "transaction" },
      ...(redisUrl === undefined
        ? [{ who: "the queue", named: forQueue, suffers: (is: Pooler) => is !== "none" }]
        : []),
    ];
    const seen = new Map<string, Pooler>();
    for (const { who, named, suffers } of users) {
      const [variable, url] = named;
      const pooler = seen.get(variable) ?? (await ask(url));
      if (typeof pooler !== "string") return unreachable(pooler.error, variable);
      seen.set(variable, pooler);
      if (!suffers(pooler)) continue;
      const { detail, fix } = sessionFinding(who, variable);
      return bad(detail, fix);
    }
    const others = [...seen.keys()].filter((variable) => variable !== "DATABASE_URL");
    return others.length === 0 ? undefined : ok(`by ${others.join(" and ")}`);

    async function ask(url: string | undefined): Promise<Pooler | { error: unknown }> {
      const find = (of: Pool) => findPooler(of).catch((error: unknown) => ({ error }));
      return url === undefined ? await find(pool) : await withPool(url, find);
    }
  });
}

type Named = readonly [variable: DatabaseVariable, url: string | undefined];
const PRIMARY: Named = ["DATABASE_URL", undefined];
const isSet = ([, url]: Named): boolean => url !== undefined;

function unreachable(error: unknown, variable: DatabaseVariable): Seen {
  return { state: "unknown", detail: reasonOf(error), fix: connectionHint(error, variable) };
}

async function withPool<Answer>(
  url: string,
  work: (pool: Pool) => Promise<Answer>,
): Promise<Answer> {
  const pool = createPool({ url, max: 2, applicationName: "millrace-doctor" });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
