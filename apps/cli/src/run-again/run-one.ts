import type { EventLookup } from "@millrace/ledger";
import type { ReplayResult, RetryResult } from "@millrace/operations";
import type { CliContext } from "../context.ts";
import { printable } from "../printable.ts";
import { DONE, REASONS, type Verb } from "./verb.ts";
import { withOperator } from "../with-operator.ts";

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
