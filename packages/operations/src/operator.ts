import type { BulkRun, BulkVerb } from "@millrace/api-contract";
import { MillraceError, type EventKey, type EventLookup } from "@millrace/core";
import type { BulkRunChange, Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { underAudit, type Actor } from "./audit.ts";
import {
  changeBulkRun,
  countBulk,
  startBulkRun,
  type BulkCount,
  type BulkOptions,
  type BulkRunOptions,
} from "./bulk-runs.ts";
import {
  countResults,
  replayEvent,
  retryEvent,
  retryEvents,
  type ReplayLookup,
  type ReplayResult,
  type RetryResult,
} from "./retry.ts";
import type { RunAgainQueues } from "./requeue.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "reads" | "retries" | "audit" | "bulkRuns">;
  readonly queues: RunAgainQueues & Pick<Queues, "pause" | "resume">;
}

export interface Operator {
  retryEvent(lookup: EventLookup): Promise<RetryResult>;
  replayEvent(lookup: ReplayLookup): Promise<ReplayResult>;
  retryEvents(keys: readonly EventKey[]): Promise<readonly RetryResult[]>;
  countRun(verb: BulkVerb, options: BulkOptions): Promise<BulkCount>;
  startRun(verb: BulkVerb, options: BulkRunOptions): Promise<BulkRun>;
  changeRun(id: number, change: BulkRunChange): Promise<BulkRun>;
  pause(source: string): Promise<void>;
  resume(source: string): Promise<void>;
}

function replayAct({ bodyHash, ...lookup }: ReplayLookup) {
  const act = { action: "replay", ...lookup } as const;
  return bodyHash === undefined ? act : { ...act, filter: { body_hash: bodyHash } };
}

/** @throws `database_unavailable` before anything is done when the intent cannot be written */
export function createOperator(deps: Deps, actor: Actor): Operator {
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
    retryEvent: (lookup) =>
      underAudit(
        audit,
        { action: "retry", ...lookup },
        () => retryEvent(deps, lookup),
        (result) => (result.kind === "retried" ? { retried: 1 } : { skipped: result.reason }),
      ),
    replayEvent: (lookup) =>
      underAudit(
        audit,
        replayAct(lookup),
        () => replayEvent(deps, lookup),
        (result) =>
          result.kind === "replayed"
            ? { replayed: 1, generation: result.generation }
            : { skipped: result.reason },
      ),
    retryEvents: (keys) =>
      underAudit(
        audit,
        { action: "retry_many", filter: { events: keys } },
        () => retryEvents(deps, keys),
        countResults,
      ),
    countRun: (verb, options) => countBulk(deps, verb, options),
    startRun: (verb, options) => startBulkRun({ ...deps, actor }, verb, options),
    changeRun: (id, change) => changeBulkRun(audit, id, change),
    pause: (source) => setPaused(source, true),
    resume: (source) => setPaused(source, false),
  };
}
