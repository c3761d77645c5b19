import {
  COUNT_MAX,
  RATE_DEFAULT,
  UNCONFIRMED_MAX,
  type BulkRun,
  type BulkVerb,
} from "@millrace/api-contract";
import { filterOf, VERB_WORDS, type SkipReason } from "@millrace/api-contract/run-text";
import { areStorable, MillraceError } from "@millrace/core";
import type { Actor, BulkFilter, BulkRunChange, Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { underAudit } from "./audit.ts";

export interface BulkOptions {
  readonly filter: BulkFilter;
  /** Needed where the filter is empty, so that nobody means one event and gets all of them. */
  readonly all?: boolean | undefined;
  readonly limit?: number | undefined;
}

export interface BulkRunOptions extends BulkOptions {
  /** The number of matching events, at most 100,000: required without a filter and above 1,000. */
  readonly expected?: number | undefined;
  readonly ratePerSecond?: number | undefined;
  /** This many events run first, of different types; the others once all of them completed. */
  readonly canary?: number | undefined;
  /** The run stops itself when more than this share of its events fails again, 0 to 1. */
  readonly failedShareMax?: number | undefined;
}

export interface BulkCount {
  readonly count: number;
  readonly more: boolean;
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>>;
}

interface CountDeps {
  readonly ledger: { readonly reads: Pick<Ledger["reads"], "countEvents"> };
  readonly queues: Pick<Queues, "queues">;
}

interface Deps extends CountDeps {
  readonly ledger: CountDeps["ledger"] & Pick<Ledger, "audit" | "bulkRuns">;
  readonly actor: Actor;
}

/**
 * Starts a run of the events that match now. The leading worker works it off, newest first.
 * @throws `invalid_request` without a filter or `all`; `count_mismatch`; `unknown_source`;
 * `database_unavailable`.
 */
export async function startBulkRun(
  deps: Deps,
  verb: BulkVerb,
  options: BulkRunOptions,
): Promise<BulkRun> {
  const { filter, all, limit, expected, ratePerSecond: rate = RATE_DEFAULT } = options;
  const { canary, failedShareMax } = options;
  const { ledger, actor } = deps;
  if (verb === "give_up" && (canary ?? failedShareMax) !== undefined) {
    throw new MillraceError("invalid_request", "Cannot give up events with a canary or a limit");
  }
  return await underAudit(
    { ledger, actor },
    {
      action: `${verb}_many`,
      source: filter.source,
      filter: { ...filter, all, expected, limit, rate, canary, failedShareMax },
    },
    async (auditId) => {
      const counted = await countBulk(deps, verb, options);
      requireExpected(counted, verb, options);
      const total = counted.more ? undefined : counted.count;
      const run = { verb, filter, limit, rate, total, canary, failedShareMax };
      return await ledger.bulkRuns.start({ ...run, actor, auditId });
    },
    ({ id }) => ({ run: id }),
  );
}

/**
 * Counts the events of a bulk run. Only the run finds a lost body or a later generation.
 * @throws `invalid_request`, `unknown_source`, `database_unavailable`
 */
export async function countBulk(
  deps: CountDeps,
  verb: BulkVerb,
  options: BulkOptions,
): Promise<BulkCount> {
  checkFilter(deps, verb, options);
  const { ledger, queues } = deps;
  const { limit = Infinity } = options;
  const { groups } = await ledger.reads.countEvents(filterOf(verb, options.filter), COUNT_MAX);
  const skipped: Partial<Record<SkipReason, number>> = {};
  let found = 0;
  for (const { source, status, count } of groups) {
    found += count;
    const isConfigured = queues.queues.has(source);
    // Giving up needs no worker, and so no configured source.
    const acts = verb !== "replay" || status !== "pending";
    if (verb === "give_up" || (isConfigured && acts)) continue;
    const reason = isConfigured ? "not_settled" : "unknown_source";
    skipped[reason] = (skipped[reason] ?? 0) + count;
  }
  const count = Math.min(found, COUNT_MAX, limit);
  // Which of the events are the newest was not asked.
  return {
    count,
    more: found > COUNT_MAX && limit > COUNT_MAX,
    skipped: limit < found ? {} : skipped,
  };
}

/** @throws `run_not_found`, `run_ended`, `database_unavailable` */
export async function changeBulkRun(
  { ledger, actor }: { readonly ledger: Pick<Ledger, "audit" | "bulkRuns">; readonly actor: Actor },
  id: number,
  change: BulkRunChange,
): Promise<BulkRun> {
  return await underAudit(
    { ledger, actor },
    { action: "bulk_run", filter: { run: id, ...change } },
    () => ledger.bulkRuns.change(id, change),
    ({ state, rate, done }) => ({ state, rate, done }),
  );
}

function checkFilter({ queues }: CountDeps, verb: BulkVerb, { filter, all }: BulkOptions): void {
  const act = VERB_WORDS[verb].verb;
  if (isEmpty(filter) && all !== true) {
    throw new MillraceError(
      "invalid_request",
      `Cannot ${act} all events without confirmation: give a filter, or \`all\``,
    );
  }
  const { values = [] } = filter;
  if (!areStorable([filter.source, filter.type, filter.error, filter.q, ...values])) {
    throw new MillraceError(
      "invalid_request",
      `Cannot ${act} events: the filter contains a NUL, or half of a surrogate pair`,
    );
  }
  const { source } = filter;
  if (source === undefined || verb === "give_up" || queues.queues.has(source)) return;
  throw new MillraceError(
    "unknown_source",
    `Cannot ${act} events: the config has no source ${JSON.stringify(source)}`,
  );
}

const isEmpty = (filter: BulkOptions["filter"]): boolean =>
  Object.values(filter).every((value) => value === undefined);

/** Events fail and complete while somebody types: by so much the number may be off. */
const OFF_MAX = 0.1;

/** A user who means many events, or all, must have seen their number. */
function requireExpected(
  { count, more }: BulkCount,
  verb: BulkVerb,
  options: BulkRunOptions,
): void {
  const { filter, expected } = options;
  if (expected === undefined && !isEmpty(filter) && count <= UNCONFIRMED_MAX) return;
  if (expected !== undefined && Math.abs(count - expected) <= expected * OFF_MAX) return;
  const found = more ? `more than ${COUNT_MAX} match` : `${count} match`;
  const said = expected === undefined ? "no number was given" : `${expected} were expected`;
  const what = isEmpty(filter) ? "all events" : "so many events";
  throw new MillraceError(
    "count_mismatch",
    `Cannot ${VERB_WORDS[verb].verb} ${what}: ${found}, and ${said}. Repeat it with that number (--expect ${count}), or give ${isEmpty(filter) ? "a" : "another"} filter`,
  );
}
