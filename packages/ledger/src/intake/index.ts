import { restoreBody } from "../claims/abandon-event.ts";
import { ping } from "../connection/ping.ts";
import { areNotCompleted } from "../repair/ledger-status.ts";
import { markEnqueued } from "../repair/mark-enqueued.ts";
import { accept, noteConflicts } from "./accept.ts";
import { noteDeliveries } from "./deliveries.ts";
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
