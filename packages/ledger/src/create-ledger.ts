import type pg from "pg";
import { abandonEvent, restoreBody } from "./claims/abandon-event.ts";
import { completeCalled, readBegun, recordStep } from "./claims/calls.ts";
import { emitAlerts } from "./claims/emit.ts";
import { fail } from "./claims/fail.ts";
import { record } from "./claims/record.ts";
import { attempt, attemptFirst } from "./claims/run-attempt.ts";
import { attemptGroup, groupHazards } from "./claims/run-group.ts";
import { bind, type Methods } from "./connection/bind.ts";
import {
  type LedgerContext,
  createContext,
  type LedgerOptions,
  ping,
} from "./connection/ledger-context.ts";
import { accept, noteConflicts } from "./intake/accept.ts";
import { noteDeliveries, findDeliveries } from "./intake/deliveries.ts";
import { noteRefusals, findRefusals, findRefusedSources } from "./intake/refusals.ts";
import { beginAudit, endAudit, findAudit, recordAudit } from "./people/audit.ts";
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
import {
  countErrorHours,
  findErrors,
  findFingerprint,
  findWorstErrors,
  getError,
  setErrorOwner,
  setErrorState,
} from "./people/errors.ts";
import { giveUpMany, noteJobsRemoved, findGivenUpJobs } from "./people/give-up.ts";
import { judgeRun } from "./people/judge-run.ts";
import { replay } from "./people/replay.ts";
import { retryMany } from "./people/retry-many.ts";
import { sendEdited } from "./people/send-edited.ts";
import { endSession, findSessions, seeSession } from "./people/sessions.ts";
import { activity } from "./reads/activity.ts";
import { countCompleted, countConflicts, countRefused, countUndone } from "./reads/count-events.ts";
import { findFailedShares, findIncidents, findSilent, findOpen } from "./reads/find-incidents.ts";
import { findEvent, findStatus, readBody } from "./reads/find-event.ts";
import { countFound, searchEvents } from "./reads/search.ts";
import { adoptLedger, keepIdentity, readIdentity, serverEpoch } from "./repair/identity.ts";
import { findLeader } from "./repair/leader.ts";
import {
  areNotCompleted,
  ledgerStatuses,
  pendingPage,
  markEnqueued,
  unmarkEnqueued,
} from "./repair/ledger-status.ts";
import { countPass, readEpochs, writeEpochs } from "./repair/queue-epochs.ts";

/** One part for each kind of user. A function that two kinds of users need is in both parts. */
const PARTS = {
  intake: {
    accept,
    noteConflicts,
    noteDeliveries,
    noteRefusals,
    markEnqueued,
    restoreBody,
    areNotCompleted,
    ping,
  },
  claims: {
    ping,
    record,
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
  },
  repair: {
    pendingPage,
    ledgerStatuses,
    markEnqueued,
    unmarkEnqueued,
    abandonEvent,
    emitAlerts,
    readEpochs,
    writeEpochs,
    countPass,
    serverEpoch,
    readIdentity,
    keepIdentity,
    adoptLedger,
    findGivenUpJobs,
  },
  retries: { retryMany, replay, sendEdited, giveUpMany, noteJobsRemoved, markEnqueued },
  reads: {
    findEvent,
    readBody,
    findDeliveries,
    findStatus,
    findEvents: searchEvents,
    countEvents: countFound,
    countUndone,
    countCompleted,
    countConflicts,
    countRefused,
    activity,
    findFailedShares,
    findIncidents,
    findSilent,
    findOpen,
    findRefusals,
    findRefusedSources,
    findLeader: ({ pool }: LedgerContext, name: string) => findLeader(pool, name),
    ping,
  },
  audit: { begin: beginAudit, end: endAudit, record: recordAudit, find: findAudit },
  errors: {
    find: findErrors,
    findWorst: findWorstErrors,
    findFingerprint,
    get: getError,
    countHours: countErrorHours,
    setState: setErrorState,
    setOwner: setErrorOwner,
  },
  bulkRuns: { start: startRun, find: findRuns, get: getRun, change: changeRun },
  bulkWork: {
    open: openRuns,
    judge: judgeRun,
    workBatch,
    noteError: noteRunError,
    keepResults: keepRunResults,
  },
  sessions: { see: seeSession, end: endSession, find: findSessions },
};

export type Ledger = {
  readonly [Part in keyof typeof PARTS]: Methods<LedgerContext, (typeof PARTS)[Part]>;
};

/** Makes a ledger over a pool, which the caller ends. An attempt holds a connection. */
export function createLedger(
  { pool }: { readonly pool: pg.Pool },
  options: LedgerOptions = {},
): Ledger {
  const context = createContext(pool, options);
  const parts = Object.entries(PARTS).map(([name, part]) => [name, bind(context, part)]);
  return Object.fromEntries(parts) as Ledger;
}
