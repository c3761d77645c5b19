import type { EventLookup } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type {
  BulkOptions,
  BulkResult,
  ReplayResult,
  RetryResult,
  Skip,
} from "@millrace/operations";
import type { CliContext } from "./context.ts";
import { createProgress } from "./progress.ts";
import { onStopRequest } from "./stop-request.ts";
import { printable } from "./terminal-text.ts";
import { withOperator } from "./stores.ts";

/** What is done with events. */
export type Verb = "retry" | "replay";

const DONE: Record<Verb, string> = { retry: "retried", replay: "replayed" };

/** Why an event was left alone, in words. */
const REASONS: Record<Skip, string> = {
  not_failed: "not failed, or on its way already",
  not_settled: "pending",
  superseded: "a later generation is there",
  not_found: "neither the ledger nor the queue knows it",
  unknown_source: "the config has no source of this name, so no worker would run it",
  only_in_queue: "only its job is there, which no worker could record: see the queue dashboard",
  body_missing: "its body is no longer kept",
};

/** Retries or replays one event, and says what became of it. Gives the exit code. */
export async function runOne(
  context: CliContext,
  verb: Verb,
  { lookup, json, reason }: { lookup: EventLookup; json: boolean; reason: string | undefined },
): Promise<number> {
  const result = await withOperator<RetryResult | ReplayResult>(context, reason, (operator) =>
    verb === "retry" ? operator.retryEvent(lookup) : operator.replayEvent(lookup),
  );
  const name = `${lookup.source} ${printable(lookup.eventId)}`;
  const isDone = result.kind !== "skipped";
  if (json) {
    const outcome = {
      [DONE[verb]]: isDone ? 1 : 0,
      skipped: isDone ? {} : { [result.reason]: 1 },
      ...(result.kind === "replayed" ? { generation: result.generation } : {}),
    };
    context.stdout.write(`${JSON.stringify(outcome)}\n`);
  } else if (result.kind === "skipped") {
    const why = result.reason;
    context.stdout.write(`not ${DONE[verb]} ${name}: ${REASONS[why]} (${why})\n`);
  } else {
    const as = result.kind === "replayed" ? ` as generation ${result.generation}` : "";
    context.stdout.write(`${DONE[verb]} ${name}${as}\n`);
  }
  return isDone ? 0 : 1;
}

/** What many events are run again by. */
export interface ManyOptions extends Pick<
  BulkOptions,
  "filter" | "all" | "limit" | "dryRun" | "ratePerSecond"
> {
  readonly json: boolean;
  readonly reason: string | undefined;
}

/**
 * Retries or replays the events of a filter with a bar, and says how far it came; Ctrl-C stops it
 * after what it is just doing. Gives the exit code.
 *
 * @throws what stopped it, when that was a failure; how far it came was told by then.
 */
export async function runMany(
  context: CliContext,
  verb: Verb,
  { json, reason, ...options }: ManyOptions,
): Promise<number> {
  const stop = onStopRequest(context, () => context.exit(1));
  try {
    const result = await withOperator(context, reason, async (operator, ledger) => {
      const count = await countFor(context, ledger, verb, options);
      const progress = createProgress(count, context.stderr);
      const act = verb === "retry" ? operator.retryMany : operator.replayMany;
      try {
        return await act({
          ...options,
          signal: stop.signal,
          onProgress: ({ done, skipped }) => progress.reach(done + total(skipped)),
        });
      } finally {
        progress.stop();
      }
    });
    tell(context, json ? asJson(verb, options, result) : asText(verb, options, result));
    if (result.stopped instanceof Error) throw result.stopped;
    return result.stopped === undefined ? 0 : 1;
  } finally {
    stop.dispose();
  }
}

/** Counting is for the bar, and nobody watches where there is none. */
async function countFor(
  context: CliContext,
  ledger: Pick<Ledger, "reads">,
  verb: Verb,
  { filter, limit = Infinity }: Omit<ManyOptions, "json" | "reason">,
): Promise<number> {
  if (context.stderr.isTTY !== true) return 0;
  const counted = verb === "retry" ? { ...filter, status: "failed" as const } : filter;
  return Math.min(limit, await ledger.reads.countEvents(counted));
}

const total = (skipped: BulkResult["skipped"]): number =>
  Object.values(skipped).reduce((sum, count) => sum + count, 0);

const tell = (context: CliContext, text: string) => context.stdout.write(`${text}\n`);

function asJson(verb: Verb, { dryRun }: Partial<ManyOptions>, result: BulkResult): string {
  return JSON.stringify({
    [DONE[verb]]: result.done,
    skipped: result.skipped,
    dryRun: dryRun === true,
    ...(result.stopped === undefined ? {} : { stopped: stoppedBy(result.stopped) }),
  });
}

function asText(verb: Verb, { dryRun }: Partial<ManyOptions>, result: BulkResult): string {
  const { done, skipped, stopped } = result;
  const lines = [`${dryRun === true ? "would be " : ""}${DONE[verb]}: ${done}`];
  for (const [reason, count] of Object.entries(skipped)) {
    lines.push(`skipped: ${count}, ${REASONS[reason as keyof typeof skipped]} (${reason})`);
  }
  if (stopped !== undefined) lines.push(`stopped before the end: ${stoppedBy(stopped)}`);
  else if (done + total(skipped) === 0) lines.push("No event matches.");
  return lines.join("\n");
}

const stoppedBy = (stopped: "cancelled" | Error): string =>
  stopped instanceof Error ? "failed" : stopped;
