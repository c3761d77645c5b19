import type pg from "pg";
import { abandonEvent } from "./claims/abandon-event.ts";
import { accept } from "./intake/accept.ts";
import { activity, countedActivity } from "./reads/activity.ts";
import { attempt } from "./claims/attempt.ts";
import { beginAudit, endAudit, findAudit, recordAudit } from "./people/audit.ts";
import { decideOriginal, readBegun } from "./claims/begin-calls.ts";
import { bind, type Methods } from "./connection/bind.ts";
import { workBatch } from "./people/bulk-batch.ts";
import {
  changeRun,
  findRuns,
  getRun,
  keepRunResults,
  noteRunError,
  openRuns,
  startRun,
} from "./people/bulk-runs.ts";
import { completeCalled } from "./claims/complete-called.ts";
import { countCompleted, countUndone } from "./reads/count-events.ts";
import { findErrors, findFingerprint, getError, setErrorState } from "./people/errors.ts";
import { findDeliveries, noteDeliveries } from "./intake/deliveries.ts";
import { fail } from "./claims/fail.ts";
import { attemptFirst } from "./claims/attempt-first.ts";
import { attemptGroup } from "./claims/attempt-group.ts";
import { findEvent, findStatus } from "./reads/find-event.ts";
import { countEvents, findEvents } from "./reads/find-events.ts";
import { findOpen } from "./reads/find-open.ts";
import { findGivenUpJobs, giveUpMany, noteJobsRemoved } from "./people/give-up.ts";
import {
  createContext,
  type LedgerContext,
  type LedgerOptions,
} from "./connection/ledger-context.ts";
import { findLeader } from "./repair/leader.ts";
import { groupHazards } from "./claims/group-hazards.ts";
import { areNotCompleted, ledgerStatuses } from "./repair/ledger-status.ts";
import { restoreBody } from "./claims/lost-body.ts";
import { markEnqueued, unmarkEnqueued } from "./repair/mark-enqueued.ts";
import { noteConflicts } from "./intake/note-conflicts.ts";
import { ping } from "./connection/ping.ts";
import { pendingPage } from "./repair/pending-page.ts";
import { countPass, readEpochs, writeEpochs } from "./repair/queue-epochs.ts";
import { readBody } from "./reads/read-body.ts";
import { record } from "./claims/record.ts";
import { findRefusals, noteRefusals } from "./intake/refusals.ts";
import { replay } from "./people/replay.ts";
import { retryMany } from "./people/retry-many.ts";
import { serverEpoch } from "./repair/server-epoch.ts";
import { endSession, findSessions, seeSession } from "./people/sessions.ts";
import { recordStep } from "./claims/steps.ts";

// One part for each kind of user, which takes only its part. A function that two of them need is in both
// parts.
const intake = {
  accept,
  noteConflicts,
  noteDeliveries,
  noteRefusals,
  markEnqueued,
  restoreBody,
  areNotCompleted,
  ping,
};
const claims = {
  ping,
  record,
  decideOriginal,
  readBegun,
  recordStep,
  completeCalled,
  attempt,
  attemptFirst,
  attemptGroup,
  groupHazards,
  fail,
  markEnqueued,
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
  countPass,
  serverEpoch,
  findGivenUpJobs,
};
const retries = { retryMany, replay, giveUpMany, noteJobsRemoved, markEnqueued };
const reads = {
  findEvent,
  readBody,
  findDeliveries,
  findStatus,
  findEvents,
  countEvents,
  countUndone,
  countCompleted,
  activity,
  countedActivity,
  findOpen,
  findRefusals,
  findLeader: ({ pool }: LedgerContext, name: string) => findLeader(pool, name),
  ping,
};
const audit = { begin: beginAudit, end: endAudit, record: recordAudit, find: findAudit };
const errors = { find: findErrors, findFingerprint, get: getError, setState: setErrorState };
const bulkRuns = { start: startRun, find: findRuns, get: getRun, change: changeRun };
const bulkWork = {
  open: openRuns,
  workBatch,
  noteError: noteRunError,
  keepResults: keepRunResults,
};
const sessions = { see: seeSession, end: endSession, find: findSessions };

type Part<Functions> = Methods<LedgerContext, Functions>;

/** The Postgres tables that know every event and its status. Safe for any number of processes. */
export interface Ledger {
  /** For the ingress: takes events in. */
  readonly intake: Part<typeof intake>;
  /** For a worker: claims the events of its jobs and settles them. */
  readonly claims: Part<typeof claims>;
  /** For the reconciler: finds what is pending and notes which events have a job. */
  readonly repair: Part<typeof repair>;
  /** For people and their programs: runs events again, or gives them up. */
  readonly retries: Part<typeof retries>;
  /** For people and their programs: lists, shows and counts events. */
  readonly reads: Part<typeof reads>;
  /** For the dashboard and the command: who did what. */
  readonly audit: Part<typeof audit>;
  /** For people and their programs: groups of equal errors. */
  readonly errors: Part<typeof errors>;
  /** For the dashboard and the command: starts bulk runs, shows, and changes them. */
  readonly bulkRuns: Part<typeof bulkRuns>;
  /** For the leading worker: works bulk runs off. */
  readonly bulkWork: Part<typeof bulkWork>;
  /** For the dashboard and the command: who is signed in. */
  readonly sessions: Part<typeof sessions>;
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
    errors: bind(context, errors),
    bulkRuns: bind(context, bulkRuns),
    bulkWork: bind(context, bulkWork),
    sessions: bind(context, sessions),
  };
}
