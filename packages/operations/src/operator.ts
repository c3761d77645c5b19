import type { BulkVerb } from "@millrace/api-contract";
import type { EnvelopedEvent, EventKey, EventLookup } from "@millrace/core";
import type { Actor, AuditedAct, AuditJson, BulkRunChange, Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { underAudit } from "./audit.ts";
import {
  changeBulkRun,
  countBulk,
  startBulkRun,
  type BulkOptions,
  type BulkRunOptions,
} from "./bulk-runs.ts";
import { giveUpEvent } from "./give-up.ts";
import type { SkippedEvent } from "./requeue.ts";
import {
  countResults,
  replayEvent,
  requireSource,
  retryEvent,
  retryEvents,
  sendEdited,
  type Edit,
  type ReplayLookup,
} from "./retry.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "reads" | "retries" | "audit" | "bulkRuns">;
  readonly queues: Queues;
}

export type Operator = ReturnType<typeof createOperator>;

type Result = SkippedEvent | { readonly kind: "retried" | "replayed" | "given_up" };

/** `{ retried: 1 }`, or the reason why nothing was done. */
function resultOf(result: Result): AuditJson {
  if (result.kind === "skipped") return { skipped: result.reason };
  const { kind, ...about } = result;
  return { [kind]: 1, ...about };
}

/** @throws `database_unavailable` before anything is done when the intent cannot be written */
export function createOperator(deps: Deps, actor: Actor) {
  const audit = { ledger: deps.ledger, actor };
  const runOne = <R extends Result>(act: AuditedAct, run: () => Promise<R>) =>
    underAudit(audit, act, run, resultOf);
  return {
    retryEvent: (lookup: EventLookup) =>
      runOne({ action: "retry", ...lookup }, () => retryEvent(deps, lookup)),
    replayEvent: (lookup: ReplayLookup) => {
      const { bodyHash, ...event } = lookup;
      const filter = bodyHash === undefined ? undefined : { body_hash: bodyHash };
      return runOne({ action: "replay", ...event, filter }, () => replayEvent(deps, lookup));
    },
    giveUpEvent: (lookup: EventLookup) =>
      runOne({ action: "give_up", ...lookup }, () => giveUpEvent(deps, lookup)),
    sendEdited: (edit: Edit) => {
      const { source, eventId, generation } = edit;
      const act = { action: "edit", source, eventId, generation };
      const editResult = (sent: EnvelopedEvent | undefined) =>
        sent === undefined ? { skipped: "not_found" } : { edited: 1, event_id: sent.eventId };
      return underAudit(audit, act, () => sendEdited(deps, edit), editResult);
    },
    retryEvents: (keys: readonly EventKey[]) =>
      underAudit(
        audit,
        { action: "retry_many", filter: { events: keys } },
        () => retryEvents(deps, keys),
        countResults,
      ),
    countRun: (verb: BulkVerb, options: BulkOptions) => countBulk(deps, verb, options),
    startRun: (verb: BulkVerb, options: BulkRunOptions) =>
      startBulkRun({ ...deps, actor }, verb, options),
    changeRun: (id: number, change: BulkRunChange) => changeBulkRun(audit, id, change),
    setPaused: (source: string, paused: boolean) =>
      underAudit(
        audit,
        { action: paused ? "pause" : "resume", source },
        async () => {
          const { queues } = deps;
          requireSource(queues, source);
          await queues.ping();
          await (paused ? queues.pause(source) : queues.resume(source));
        },
        () => ({ paused }),
      ),
  };
}
