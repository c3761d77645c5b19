import { restoreBody } from "../claims/lost-events.ts";
import { ping } from "../connection/ping.ts";
import { areNotCompleted } from "../repair/ledger-status.ts";
import { markEnqueued } from "../repair/mark-enqueued.ts";
import { accept } from "./accept.ts";
import { noteDeliveries } from "./deliveries.ts";
import { noteConflicts } from "./note-conflicts.ts";
import { noteRefusals } from "./refusals.ts";

export const intake = {
  accept,
  noteConflicts,
  noteDeliveries,
  noteRefusals,
  markEnqueued,
  restoreBody,
  areNotCompleted,
  ping,
};
