import type { BulkVerb } from "@millrace/api-contract";
import { MillraceError, type EventKey, type EventLookup } from "@millrace/core";
import type { BulkRunChange, Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { underAudit, type Actor } from "./audit.ts";
import {
  changeBulkRun,
  countBulk,
  startBulkRun,
  type BulkOptions,
  type BulkRunOptions,
} from "./bulk-runs.ts";
import { countResults, replayEvent, retryEvent, retryEvents, type ReplayLookup } from "./retry.ts";
import type { RunAgainQueues } from "./requeue.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "reads" | "retries" | "audit" | "bulkRuns">;
  readonly queues: RunAgainQueues & Pick<Queues, "pause" | "resume">;
}

export type Operator = ReturnType<typeof createOperator>;

function replayAct({ bodyHash, ...lookup }: ReplayLookup) {
  const act = { action: "replay", ...lookup } as const;
  return bodyHash === undefined ? act : { ...act, filter: { body_hash: bodyHash } };
}

/** @throws `database_unavailable` before anything is done when the intent cannot be written */
export function createOperator(deps: Deps, actor: Actor) {
  const audit = { ledger: deps.ledger, actor };
  const setPaused = (source: string, paused: boolean) =>
    underAudit(
      audit,
      { action: paused ? "pause" : "resume", source },
      async () => {
        const { queues } = deps;
        if (!queues.queues.has(source)) {
          throw new MillraceError("unknown_source", "Cannot find the source: it is not configured");
        }
        await queues.ping();
        await (paused ? queues.pause(source) : queues.resume(source));
      },
      () => ({ paused }),
    );
  return {
    retryEvent: (lookup: EventLookup) =>
      underAudit(
        audit,
        { action: "retry", ...lookup },
        () => retryEvent(deps, lookup),
        (result) => (result.kind === "retried" ? { retried: 1 } : { skipped: result.reason }),
      ),
    replayEvent: (lookup: ReplayLookup) =>
      underAudit(
        audit,
        replayAct(lookup),
        () => replayEvent(deps, lookup),
        (result) =>
          result.kind === "replayed"
            ? { replayed: 1, generation: result.generation }
            : { skipped: result.reason },
      ),
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
    pause: (source: string) => setPaused(source, true),
    resume: (source: string) => setPaused(source, false),
  };
}
