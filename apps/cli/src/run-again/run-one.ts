import type { EventLookup } from "@millrace/ledger";
import { replayEvent, retryEvent, type ReplayResult, type RetryResult } from "@millrace/operations";
import type { CliContext } from "../context.ts";
import { printable } from "../printable.ts";
import { DONE, REASONS, type Verb } from "./verb.ts";
import { withStores } from "./with-stores.ts";

/** Retries or replays one event, and says what became of it. Gives the exit code. */
export async function runOne(
  context: CliContext,
  verb: Verb,
  { lookup, json }: { lookup: EventLookup; json: boolean },
): Promise<number> {
  const result = await withStores<RetryResult | ReplayResult>(context, (stores) =>
    verb === "retry" ? retryEvent(stores, lookup) : replayEvent(stores, lookup),
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
    const { reason } = result;
    context.stdout.write(`not ${DONE[verb]} ${name}: ${REASONS[reason]} (${reason})\n`);
  } else {
    const as = result.kind === "replayed" ? ` as generation ${result.generation}` : "";
    context.stdout.write(`${DONE[verb]} ${name}${as}\n`);
  }
  return isDone ? 0 : 1;
}
