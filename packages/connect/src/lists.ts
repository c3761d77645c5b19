import { isDatabaseUnavailable, SQLSTATE, sqlStateOf, type Ledger } from "@millrace/ledger";

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

/** Milliseconds until a standby that did not answer is asked again. */
const STANDBY_REST_MS = 10_000;

/**
 * Lists of a standby, if there is one, and of the primary while the standby does not answer: a person who looks at a
 * failover has the lists. `onAway` gets why.
 */
export function listsFrom(
  standby: Lists | undefined,
  primary: Lists,
  onAway: (error: unknown) => void,
): Lists {
  if (standby === undefined) return primary;
  let restsUntilMs = 0;

  async function ask<Answer>(question: (lists: Lists) => Promise<Answer>): Promise<Answer> {
    if (performance.now() < restsUntilMs) return await question(primary);
    try {
      return await question(standby ?? primary);
    } catch (error) {
      if (!isAway(error)) throw error;
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

/** A statement that took too long on the standby would take too long on the primary, and cost both. */
function isAway(error: unknown): boolean {
  return isDatabaseUnavailable(error) && sqlStateOf(error) !== SQLSTATE.queryCanceled;
}
