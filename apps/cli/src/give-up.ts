import type { EventLookup } from "@millrace/core";
import type { GiveUpAnswer } from "@millrace/ledger";
import { giveUpEvent } from "@millrace/operations";
import type { CliContext } from "./context.ts";
import { withStores } from "./stores.ts";
import { printable } from "./terminal-text.ts";

/** Why an event was not given up, by its code. */
const REASONS: Record<Exclude<GiveUpAnswer, "given_up">, readonly [code: string, why: string]> = {
  running: ["event_running", "its handler is running; ask again when the attempt has ended"],
  not_pending: ["not_pending", "it is already completed or failed"],
  not_found: ["event_not_found", "the ledger does not know it"],
};

export interface GiveUpOptions {
  readonly lookup: EventLookup;
  readonly json: boolean;
  readonly reason: string | undefined;
}

/** Gives one event up, and says what became of it. Gives the exit code. */
export async function runGiveUp(
  context: CliContext,
  { lookup, json, reason }: GiveUpOptions,
): Promise<number> {
  const actor = { user: context.user, role: "operator", via: "cli", reason } as const;
  const answer = await withStores(context, (stores) => giveUpEvent({ ...stores, actor }, lookup));
  const isDone = answer === "given_up";
  const name = `${lookup.source} ${printable(lookup.eventId)}`;
  if (json) {
    const outcome = {
      given_up: isDone ? 1 : 0,
      skipped: isDone ? {} : { [REASONS[answer][0]]: 1 },
    };
    context.stdout.write(`${JSON.stringify(outcome)}\n`);
  } else if (isDone) {
    context.stdout.write(`given up ${name}\n`);
  } else {
    const [code, why] = REASONS[answer];
    context.stdout.write(`not given up ${name}: ${why} (${code})\n`);
  }
  return isDone ? 0 : 1;
}
