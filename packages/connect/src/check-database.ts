import { MillraceError, type Config } from "@millrace/core";
import {
  checkSchema,
  findPooler,
  missingRights,
  readServerFacts,
  requireSupported,
  type createPool,
  type RightsRole,
  type ServerFacts,
} from "@millrace/ledger";

type Pool = ReturnType<typeof createPool>;

export interface Finding {
  readonly detail: string;
  readonly fix: string;
}

/**
 * @throws `postgres_too_old`, `unsupported_isolation`, `missing_rights`, `migration_needed`,
 * `migration_changed`, `migration_unknown`, `database_unavailable`
 */
export async function checkDatabase(pool: Pool, role: RightsRole) {
  const facts = await readServerFacts(pool);
  requireServer(facts);
  await requireRights(pool, role, facts.login);
  await checkSchema(pool);
  return { facts, pooler: await findPooler(pool) };
}

/** @throws `postgres_too_old`, `unsupported_isolation` */
export function requireServer(facts: ServerFacts): void {
  requireSupported(facts);
  const { isolation, login } = facts;
  // Other isolation levels hide rows that an attempt must see, and its events fail.
  if (isolation === "read committed") return;
  throw new MillraceError(
    "unsupported_isolation",
    `Cannot use the database: default_transaction_isolation is "${isolation}", and attempts need "read committed". ` +
      `Set it for the login: ${ofLogin(login, "default_transaction_isolation", "'read committed'")}`,
  );
}

const ofLogin = (login: string, setting: string, value: string): string =>
  `ALTER ROLE "${login}" SET ${setting} = ${value}`;

async function requireRights(pool: Pool, role: RightsRole, login: string): Promise<void> {
  const missing = await missingRights(pool, role);
  if (missing.length === 0) return;
  const variable = role === "retention" ? "RETENTION_DATABASE_URL" : "DATABASE_URL";
  throw new MillraceError(
    "missing_rights",
    `Cannot use the database: the login "${login}" lacks rights of the ${role}: ${missing.join(", ")}. ` +
      `Run infra/postgres/roles.sql again, and check that ${variable} has the ${role}'s login`,
  );
}

/** @throws `database_unavailable` */
export async function retentionFinding(pool: Pool): Promise<Finding | undefined> {
  const missing = await missingRights(pool, "retention");
  if (missing.length === 0) return undefined;
  return {
    detail: `this login cannot drop old bodies and events: it lacks ${missing.join(", ")}`,
    fix: "Set RETENTION_DATABASE_URL to the login millrace_retention",
  };
}

/** Finds sources whose sender repeats an event for longer than its ID is known. */
export function horizonFindings({
  sources,
  retention: { keysDays },
}: Pick<Config, "sources" | "retention">): Finding[] {
  return Object.entries(sources).flatMap(([name, { provider }]) => {
    const { repeatsDays = 0 } = provider;
    if (repeatsDays <= keysDays) return [];
    return {
      detail: `retention.keysDays is ${keysDays}, and the sender of source "${name}" may repeat an event for ${repeatsDays} days: later repeats run again`,
      fix: `Set retention.keysDays to ${repeatsDays} or more`,
    };
  });
}

export function settingFindings(
  facts: ServerFacts,
  { handlerTimeoutMs }: Partial<Pick<Config["worker"], "handlerTimeoutMs">> = {},
): Finding[] {
  const { login, synchronousCommit, fsync, fullPageWrites, transactionTimeoutMs } = facts;
  const findings: (Finding | false)[] = [
    synchronousCommit === "off" && {
      detail:
        "synchronous_commit is off, so a crash of Postgres loses events that were acknowledged",
      fix: ofLogin(login, "synchronous_commit", "on"),
    },
    !fsync && {
      detail: "fsync is off, so a crash of the machine loses or destroys everything",
      fix: "Set fsync = on in postgresql.conf",
    },
    !fullPageWrites && {
      detail: "full_page_writes is off, so a crash of the machine may destroy tables",
      fix: "Set full_page_writes = on in postgresql.conf",
    },
    handlerTimeoutMs !== undefined &&
      transactionTimeoutMs > 0 &&
      transactionTimeoutMs <= handlerTimeoutMs && {
        detail: `transaction_timeout is ${transactionTimeoutMs} ms, so Postgres ends handlers that may run for ${handlerTimeoutMs} ms (worker.handlerTimeoutMs)`,
        fix: ofLogin(login, "transaction_timeout", "0"),
      },
  ];
  return findings.filter((finding) => finding !== false);
}
