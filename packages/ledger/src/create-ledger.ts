import type pg from "pg";
import { abandonEvent } from "./abandon-event.ts";
import { accept } from "./accept.ts";
import { activity } from "./activity.ts";
import { attempt } from "./attempt.ts";
import { beginAudit, endAudit, findAudit } from "./audit.ts";
import { bind, type Methods } from "./bind.ts";
import { countCompleted, countUndone } from "./count-events.ts";
import { fail } from "./fail.ts";
import { attemptFirst } from "./attempt-first.ts";
import { attemptGroup } from "./attempt-group.ts";
import { findEvent } from "./find-event.ts";
import { countEvents, findEvents } from "./find-events.ts";
import { createContext, type LedgerContext, type LedgerOptions } from "./ledger-context.ts";
import { groupHazards } from "./group-hazards.ts";
import { ledgerStatuses } from "./ledger-status.ts";
import { markEnqueued, unmarkEnqueued } from "./mark-enqueued.ts";
import { noteConflicts } from "./note-conflicts.ts";
import { pendingPage } from "./pending-page.ts";
import { readEpochs, writeEpochs } from "./queue-epochs.ts";
import { record } from "./record.ts";
import { replay } from "./replay.ts";
import { retryMany } from "./retry-many.ts";
import { runStatement } from "./transaction.ts";

// One part for each kind of user, which takes only its part. A function that two of them need is in both
// parts.
const intake = { accept, noteConflicts, markEnqueued, ping };
const claims = {
  record,
  attempt,
  attemptFirst,
  attemptGroup,
  groupHazards,
  fail,
  abandonEvent,
  findEvent,
};
const repair = {
  pendingPage,
  ledgerStatuses,
  markEnqueued,
  unmarkEnqueued,
  abandonEvent,
  readEpochs,
  writeEpochs,
};
const retries = { retryMany, replay, markEnqueued };
const reads = { findEvent, findEvents, countEvents, countUndone, countCompleted, activity, ping };
const audit = { begin: beginAudit, end: endAudit, find: findAudit };

type Part<Functions> = Methods<LedgerContext, Functions>;

/** The Postgres tables that know every event and its status. Safe for any number of processes. */
export interface Ledger {
  /** For the ingress: takes events in. */
  readonly intake: Part<typeof intake>;
  /** For a worker: claims the events of its jobs and settles them. */
  readonly claims: Part<typeof claims>;
  /** For the reconciler: finds what is pending and notes which events have a job. */
  readonly repair: Part<typeof repair>;
  /** For people and their programs: runs events again. */
  readonly retries: Part<typeof retries>;
  /** For people and their programs: lists, shows and counts events. */
  readonly reads: Part<typeof reads>;
  /** For the dashboard and the command: who did what. */
  readonly audit: Part<typeof audit>;
}

/**
 * Makes a ledger over a pool of `createPool`. The pool stays the caller's to end. It must hold a
 * connection for each attempt that runs at once, and some for the rest: attempts keep theirs for as
 * long as their handlers run.
 */
export function createLedger(
  { pool }: { readonly pool: pg.Pool },
  options: LedgerOptions = {},
): Ledger {
  const context = createContext(pool, options);
  return {
    intake: bind(context, intake),
    claims: bind(context, claims),
    repair: bind(context, repair),
    retries: bind(context, retries),
    reads: bind(context, reads),
    audit: bind(context, audit),
  };
}

/** @throws `database_unavailable` when Postgres does not answer in time. */
async function ping(ledger: LedgerContext): Promise<void> {
  await runStatement(ledger.pool, { text: "SELECT 1" }, ledger.short);
}
