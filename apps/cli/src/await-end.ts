import { countOf } from "@millrace/api-contract/run-text";
import type { EventRow } from "@millrace/api-contract";
import { wait, type EventLookup } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { statusOf } from "./events/format-events.ts";
import { printable } from "./terminal-text.ts";

/** The latest row of an event; undefined while the ledger does not have it. */
type Ended = EventRow | undefined;

const BEAT_MS = 200;

export async function awaitEnd(
  { reads }: { readonly reads: Pick<Ledger["reads"], "findStatus" | "findEvent"> },
  lookup: EventLookup,
  timeoutMs: number,
): Promise<Ended> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const found = await reads.findStatus(lookup);
    const leftMs = deadlineMs - performance.now();
    if ((found !== undefined && found.status !== "pending") || leftMs <= 0) break;
    await wait(Math.min(BEAT_MS, leftMs));
  }
  return (await reads.findEvent(lookup, { bodyBytesMax: 0 }))?.event;
}

export function describeEnd(ended: Ended, timeoutMs: number): string {
  const waited = `${timeoutMs / 1_000} s`;
  if (ended === undefined) return `not recorded after ${waited}: no worker has run it yet`;
  const { status, attempts, last_error: message, last_error_code: code } = ended;
  const times = countOf(attempts, "attempt");
  const why = message === null ? "" : `: ${printable(message)} (${code})`;
  if (status === "completed") return `${statusOf(ended)} after ${times}`;
  if (status === "failed") return `failed after ${times}${why}`;
  return `still pending after ${waited} and ${times}${why}`;
}

export const exitCodeOf = (ended: Ended): number => (ended?.status === "completed" ? 0 : 1);
