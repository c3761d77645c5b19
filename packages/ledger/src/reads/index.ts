import type { LedgerContext } from "../connection/ledger-context.ts";
import { ping } from "../connection/ping.ts";
import { findDeliveries } from "../intake/deliveries.ts";
import { findRefusals, findRefusedSources } from "../intake/refusals.ts";
import { findLeader } from "../repair/leader.ts";
import { activity } from "./activity.ts";
import { countCompleted, countConflicts, countRefused, countUndone } from "./count-events.ts";
import { findConflicts, findEvent, findStatus, readBody } from "./find-event.ts";
import { countEvents, findEvents } from "./find-events.ts";
import { findFailedShares } from "./failed-shares.ts";
import { findIncidents, findSilent } from "./find-incidents.ts";
import { findOpen } from "./find-open.ts";

export const reads = {
  findEvent,
  findConflicts,
  readBody,
  findDeliveries,
  findStatus,
  findEvents,
  countEvents,
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
};
