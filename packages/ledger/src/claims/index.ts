import { ping } from "../connection/ping.ts";
import { findEvent } from "../reads/find-event.ts";
import { markEnqueued } from "../repair/mark-enqueued.ts";
import { abandonEvent } from "./abandon-event.ts";
import { completeCalled, readBegun, recordStep } from "./calls.ts";
import { fail } from "./fail.ts";
import { groupHazards } from "./group-hazards.ts";
import { record } from "./record.ts";
import { attempt, attemptFirst } from "./run-attempt.ts";
import { attemptGroup } from "./run-group.ts";

export const claims = {
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
};
