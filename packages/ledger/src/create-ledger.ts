import type pg from "pg";
import { abandonEvent } from "./abandon-event.ts";
import { accept } from "./accept.ts";
import { activity, countedActivity } from "./activity.ts";
import { attempt } from "./attempt.ts";
import { beginAudit, endAudit, findAudit, recordAudit } from "./audit.ts";
import { decideOriginal, readBegun } from "./begin-calls.ts";
import { bind, type Methods } from "./bind.ts";
import { workBatch } from "./bulk-batch.ts";
import {
  changeRun,
  findRuns,
  getRun,
  keepRunResults,
  noteRunError,
  openRuns,
  startRun,
} from "./bulk-runs.ts";
import { completeCalled } from "./complete-called.ts";
import { countCompleted, countUndone } from "./count-events.ts";
import { findErrors, findFingerprint, getError, setErrorState } from "./errors.ts";
import { findDeliveries, noteDeliveries } from "./deliveries.ts";
import { fail } from "./fail.ts";
import { attemptFirst } from "./attempt-first.ts";
import { attemptGroup } from "./attempt-group.ts";
import { findEvent, findStatus } from "./find-event.ts";
import { countEvents, findEvents } from "./find-events.ts";
import { findOpen } from "./find-open.ts";
import { findGivenUpJobs, giveUpMany, noteJobsRemoved } from "./give-up.ts";
import { createContext, type LedgerContext, type LedgerOptions } from "./ledger-context.ts";
import { findLeader } from "./leader.ts";
import { groupHazards } from "./group-hazards.ts";
import { areNotCompleted, ledgerStatuses } from "./ledger-status.ts";
import { restoreBody } from "./lost-body.ts";
import { markEnqueued, unmarkEnqueued } from "./mark-enqueued.ts";
import { noteConflicts } from "./note-conflicts.ts";
import { ping } from "./ping.ts";
import { pendingPage } from "./pending-page.ts";
import { countPass, readEpochs, writeEpochs } from "./queue-epochs.ts";
import { readBody } from "./read-body.ts";
import { record } from "./record.ts";
import { findRefusals, noteRefusals } from "./refusals.ts";
import { replay } from "./replay.ts";
import { replicaLagMs } from "./replica-lag.ts";
import { retryMany } from "./retry-many.ts";
import { databaseIdentity, serverEpoch } from "./server-epoch.ts";
import { endSession, findSessions, seeSession } from "./sessions.ts";
import { recordStep } from "./steps.ts";
import { noteUnsignedJobs, unsignedJobsMs } from "./unsigned-jobs.ts";

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
  noteUnsignedJobs,
  unsignedJobsMs,
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
  replicaLagMs,
  databaseIdentity,
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
