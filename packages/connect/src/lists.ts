import { isMillraceError, MillraceError } from "@millrace/core";
import {
  isDatabaseUnavailable,
  SQLSTATE,
  sqlStateOf,
  type DatabaseIdentity,
  type Ledger,
} from "@millrace/ledger";
import type { Finding } from "./check-database.ts";

/** What may come from a standby. */
export type Lists = Pick<Ledger["reads"], (typeof NAMES)[number]>;

const NAMES = [
  "findEvents",
  "countEvents",
  "countUndone",
  "countCompleted",
  "activity",
  "countedActivity",
  "replicaLagMs",
] as const satisfies readonly (keyof Ledger["reads"])[];

type Identified = Pick<Ledger["reads"], "databaseIdentity">;

/**
 * Refuses a server of `DATABASE_READ_URL` that is known to be no copy of the primary: its lists would be of other events.
 *
 * @throws `read_url_mismatch`; `database_unavailable`
 */
export async function requireCopy(standby: Identified, primary: DatabaseIdentity): Promise<void> {
  const finding = copyFinding(await standby.databaseIdentity(), primary);
  if (finding === undefined) return;
  throw new MillraceError(
    "read_url_mismatch",
    `Cannot list from the standby: ${finding.detail}. ${finding.fix}`,
  );
}

/** The same for one who only looks. What a login may not read is unknown, and unknown is not different. */
export function copyFinding(
  standby: DatabaseIdentity,
  primary: DatabaseIdentity,
): Finding | undefined {
  const [theirs, ours] = [standby.systemId, primary.systemId];
  const fix = "Name a standby of DATABASE_URL's server, or remove DATABASE_READ_URL";
  if (theirs !== undefined && ours !== undefined && theirs !== ours) {
    const detail =
      "DATABASE_READ_URL names another server than a standby of DATABASE_URL's: its system_identifier " +
      `is "${theirs}", and that of DATABASE_URL's is "${ours}"`;
    return { detail, fix };
  }
  if (standby.database === primary.database) return undefined;
  const detail = `DATABASE_READ_URL names the database "${standby.database}", and DATABASE_URL "${primary.database}"`;
  return { detail, fix };
}

/** Milliseconds until a standby that did not answer is asked again. */
const STANDBY_REST_MS = 10_000;

/**
 * Lists of a standby, if there is one, and of the primary while the standby does not answer: a person who looks at a
 * failover has the lists. `onAway` gets why. Another server may answer than the one that was checked, so `check` is called
 * before the first list, and before the first one after the standby was away.
 */
export function listsFrom(
  standby: Lists | undefined,
  primary: Lists,
  { check, onAway }: { check: () => Promise<void>; onAway: (error: unknown) => void },
): Lists {
  if (standby === undefined) return primary;
  let restsUntilMs = 0;
  let isChecked = false;

  async function ask<Answer>(question: (lists: Lists) => Promise<Answer>): Promise<Answer> {
    if (performance.now() < restsUntilMs) return await question(primary);
    try {
      if (!isChecked) await check();
      isChecked = true;
      return await question(standby ?? primary);
    } catch (error) {
      if (!isAway(error)) throw error;
      isChecked = false;
      restsUntilMs = performance.now() + STANDBY_REST_MS;
      onAway(error);
      return await question(primary);
    }
  }

  return {
    findEvents: (...args) => ask((lists) => lists.findEvents(...args)),
    countEvents: (...args) => ask((lists) => lists.countEvents(...args)),
    countUndone: (...args) => ask((lists) => lists.countUndone(...args)),
    countCompleted: (...args) => ask((lists) => lists.countCompleted(...args)),
    activity: (...args) => ask((lists) => lists.activity(...args)),
    countedActivity: (...args) => ask((lists) => lists.countedActivity(...args)),
    replicaLagMs: (...args) => ask((lists) => lists.replicaLagMs(...args)),
  };
}

/** Also a server that is no copy. A statement that took too long on the standby would take too long on the primary, and cost both. */
function isAway(error: unknown): boolean {
  if (isMillraceError(error) && error.code === "read_url_mismatch") return true;
  return isDatabaseUnavailable(error) && sqlStateOf(error) !== SQLSTATE.queryCanceled;
}
