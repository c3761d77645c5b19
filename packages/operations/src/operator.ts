import { isMillraceError, type EventLookup } from "@millrace/core";
import type { AuditJson, Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { underAudit, type Actor } from "./audit.ts";
import type { BulkOptions, BulkResult } from "./bulk.ts";
import { pauseSource, resumeSource } from "./pause-source.ts";
import { replayEvent, replayMany, type ReplayResult } from "./replay.ts";
import { retryEvent, retryMany, type RetryManyOptions, type RetryResult } from "./retry.ts";
import type { RunAgainQueues } from "./run-again.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "reads" | "retries" | "audit">;
  readonly queues: RunAgainQueues & Pick<Queues, "pause" | "resume">;
}

/** What a person or a program can do to events and sources. */
export interface Operator {
  retryEvent(lookup: EventLookup): Promise<RetryResult>;
  replayEvent(lookup: EventLookup): Promise<ReplayResult>;
  retryMany(options: RetryManyOptions): Promise<BulkResult>;
  replayMany(options: BulkOptions): Promise<BulkResult>;
  pause(source: string): Promise<void>;
  resume(source: string): Promise<void>;
}

/**
 * Makes the operations of an actor: those of the same names, each under audit. A dry run changes
 * nothing and is not audited. Besides their own errors they throw `database_unavailable` before
 * anything is done, when it cannot be written down.
 */
export function createOperator(deps: Deps, actor: Actor): Operator {
  const audit = { ledger: deps.ledger, actor };
  const many =
    <Options extends BulkOptions>(
      action: string,
      verbed: string,
      act: (deps: Deps, options: Options) => Promise<BulkResult>,
    ) =>
    async (options: Options) => {
      if (options.dryRun === true) return await act(deps, options);
      const intent = { action, source: options.filter.source, filter: askedFor(options) };
      return await underAudit(
        audit,
        intent,
        () => act(deps, options),
        (result) => bulkResult(verbed, result),
      );
    };
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
        { action: "replay", ...lookup },
        () => replayEvent(deps, lookup),
        (result) =>
          result.kind === "replayed"
            ? { replayed: 1, generation: result.generation }
            : { skipped: result.reason },
      ),
    retryMany: many("retry_many", "retried", retryMany),
    replayMany: many("replay_many", "replayed", replayMany),
    pause: (source) =>
      underAudit(
        audit,
        { action: "pause", source },
        () => pauseSource(deps, source),
        () => ({ paused: true }),
      ),
    resume: (source) =>
      underAudit(
        audit,
        { action: "resume", source },
        () => resumeSource(deps, source),
        () => ({ paused: false }),
      ),
  };
}

/** What was asked for, with the limits that were set to it. */
function askedFor({ filter, all, limit, ratePerSecond }: BulkOptions): AuditJson {
  return { ...filter, all, limit, rate: ratePerSecond };
}

function bulkResult(verbed: string, { done, skipped, stopped }: BulkResult): AuditJson {
  const counts = { [verbed]: done, skipped };
  if (stopped === undefined) return counts;
  if (stopped === "cancelled") return { ...counts, stopped };
  return { ...counts, stopped: isMillraceError(stopped) ? stopped.code : "internal" };
}
