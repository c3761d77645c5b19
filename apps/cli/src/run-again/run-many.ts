import type { Ledger } from "@millrace/ledger";
import type { BulkOptions, BulkResult } from "@millrace/operations";
import type { CliContext } from "../context.ts";
import { createProgress } from "../progress.ts";
import { hearStopRequest } from "../stop-request.ts";
import { DONE, REASONS, type Verb } from "./verb.ts";
import { withOperator } from "../with-operator.ts";

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
  const stop = hearStopRequest(context, () => context.exit(1));
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
  ledger: Pick<Ledger, "countEvents">,
  verb: Verb,
  { filter, limit = Infinity }: Omit<ManyOptions, "json" | "reason">,
): Promise<number> {
  if (context.stderr.isTTY !== true) return 0;
  const counted = verb === "retry" ? { ...filter, status: "failed" as const } : filter;
  return Math.min(limit, await ledger.countEvents(counted));
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
