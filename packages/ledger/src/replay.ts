import type { EventLookup } from "./find-event.ts";
import { toIdentity, type EventIdentity, type IdentityRow } from "./identity-row.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { packKeys } from "./pack-keys.ts";
import { withPartitions } from "./partitions.ts";
import { isStorableKey } from "./retry-many.ts";
import { REPLAY } from "./sql/replay.ts";
import { runStatement } from "./transaction.ts";

/** What became of one event of a replay. */
export type ReplayAnswer =
  /** It is pending as this further generation; its job is the caller's to put on the queue. */
  | { readonly kind: "replayed"; readonly event: EventIdentity }
  /** Its latest generation is pending: it runs, or is about to. */
  | { readonly kind: "not_settled" }
  /** A later generation than the one that was named is there. */
  | { readonly kind: "superseded" }
  | { readonly kind: "not_found" | "body_missing" };

/**
 * Makes settled events pending as a further generation, in one commit: one answer a lookup, in order.
 * No row that is there is changed, and the body is kept from now on. A generation that is named must be the latest. Of two calls at once,
 * one replays an event. A dry run answers the same and changes nothing.
 *
 * @throws `database_unavailable`
 */
export async function replay(
  ledger: LedgerContext,
  lookups: readonly EventLookup[],
  options: { dryRun?: boolean } = {},
): Promise<readonly ReplayAnswer[]> {
  const dryRun = options.dryRun === true;
  const wanted = new Map<string, EventLookup>();
  for (const lookup of lookups) if (isStorableKey(lookup)) wanted.set(nameOf(lookup), lookup);
  const answers = await runReplay(ledger, [...wanted.values()], dryRun);
  const again = [...wanted].filter(([name]) => answers.get(name) === "again");
  if (again.length > 0) {
    // The next snapshot sees the generation that another replay made meanwhile.
    const lookAgain = again.map(([, lookup]) => lookup);
    for (const [name, answer] of await runReplay(ledger, lookAgain, dryRun)) {
      answers.set(name, answer === "again" ? { kind: "not_settled" } : answer);
    }
  }
  return lookups.map((lookup) => {
    const answer = answers.get(nameOf(lookup));
    return answer === undefined || answer === "again" ? { kind: "not_found" } : answer;
  });
}

interface Row extends IdentityRow {
  readonly wanted: number | null;
  readonly kind: ReplayAnswer["kind"] | "again";
}

async function runReplay(
  ledger: LedgerContext,
  lookups: readonly EventLookup[],
  dryRun: boolean,
): Promise<Map<string, ReplayAnswer | "again">> {
  const values = [...packKeys(lookups), dryRun];
  const query = { name: "millrace_replay", text: REPLAY, values };
  const { rows } = await withPartitions(ledger.pool, () =>
    runStatement<Row>(ledger.pool, query, ledger.short),
  );
  return new Map(
    rows.map((row) => {
      const generation = row.wanted ?? undefined;
      return [nameOf({ source: row.source, eventId: row.event_id, generation }), answerOf(row)];
    }),
  );
}

function answerOf(row: Row): ReplayAnswer | "again" {
  const { kind } = row;
  if (kind === "again") return kind;
  return kind === "replayed" ? { kind, event: toIdentity(row) } : { kind };
}

function nameOf({ source, eventId, generation }: EventLookup): string {
  return `${source}\0${generation ?? "latest"}\0${eventId}`;
}
