import { markEnqueued } from "../repair/mark-enqueued.ts";
import { beginAudit, endAudit, findAudit, recordAudit } from "./audit.ts";
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
import { countErrorHours, findErrors, findFingerprint, getError, setErrorState } from "./errors.ts";
import { giveUpMany, noteJobsRemoved } from "./give-up.ts";
import { judgeRun } from "./judge-run.ts";
import { replay } from "./replay.ts";
import { retryMany } from "./retry-many.ts";
import { endSession, findSessions, seeSession } from "./sessions.ts";

export const retries = { retryMany, replay, giveUpMany, noteJobsRemoved, markEnqueued };

export const audit = { begin: beginAudit, end: endAudit, record: recordAudit, find: findAudit };

export const errors = {
  find: findErrors,
  findFingerprint,
  get: getError,
  countHours: countErrorHours,
  setState: setErrorState,
};

export const bulkRuns = { start: startRun, find: findRuns, get: getRun, change: changeRun };

export const bulkWork = {
  open: openRuns,
  judge: judgeRun,
  workBatch,
  noteError: noteRunError,
  keepResults: keepRunResults,
};

export const sessions = { see: seeSession, end: endSession, find: findSessions };
