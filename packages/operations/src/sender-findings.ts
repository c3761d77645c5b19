import type { Ledger, LedgerIdentity } from "@millrace/ledger";

export interface SenderFinding {
  readonly text: string;
  /** Undefined where nothing is wrong. */
  readonly fix?: string;
}

/** Copies of a signed message that are refused in number may be what the sender means. */
const COPIES_MIN = 3;

/** Looks for senders that the settings of their sources do not fit. */
export async function findSenders({ reads }: { readonly reads: Ledger["reads"] }) {
  const [conflicts, refused] = await Promise.all([reads.countConflicts(), reads.countRefused()]);
  const shared = conflicts.map(({ source, count, examples }) => {
    return `${source} (${count}, such as ${examples.join(" and ")})`;
  });
  const repeating = refused.filter(({ count }) => count >= COPIES_MIN);
  const copied = repeating.map(({ source, count }) => `${source} (${count})`);
  return { ids: sharedIds(shared), copies: copies(copied) };
}

/** An ID that is a time or a status is no ID. */
function sharedIds(sources: readonly string[]): SenderFinding {
  if (sources.length === 0) return { text: "No ID came with two bodies in the last 7 days" };
  return {
    text: `IDs came with two bodies in the last 7 days: ${sources.join(", ")}`,
    fix: "See `millrace conflicts`. If a source takes its ID from a field that is not unique, choose another",
  };
}

function copies(sources: readonly string[]): SenderFinding {
  if (sources.length === 0) return { text: "No source repeats its signed messages" };
  return {
    text: `Signed messages came again under another ID and were refused: ${sources.join(", ")}`,
    fix: "If the sender repeats equal messages, set bodyDedup: false for the source. Then nothing refuses a captured message",
  };
}

/** Since when workers sign the jobs of a ledger. */
export function signingText({ signedSinceMs }: LedgerIdentity): string {
  if (signedSinceMs === undefined) return "not signed";
  return `signed since ${new Date(signedSinceMs).toISOString()}`;
}
