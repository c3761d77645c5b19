import type { Ledger, LedgerIdentity } from "@millrace/ledger";

export interface SenderFinding {
  readonly text: string;
  /** Undefined where nothing is wrong. */
  readonly fix?: string;
}

/** Copies of a signed message that are refused in number may be what the sender means. */
const COPIES_MIN = 3;
const DAY_MINUTES = 24 * 60;

/** Looks for senders that the settings of their sources do not fit. */
export async function findSenders({ reads }: { readonly reads: Ledger["reads"] }) {
  const [conflicts, refused, tooLarge] = await Promise.all([
    reads.countConflicts(),
    reads.countRefused(),
    reads.findRefusals(DAY_MINUTES, "body_too_large"),
  ]);
  const shared = conflicts.map(({ source, count, examples }) => {
    return `${source} (${count}, such as ${examples.join(" and ")})`;
  });
  const repeating = refused.filter(({ count }) => count >= COPIES_MIN);
  const copied = repeating.map(({ source, count }) => `${source} (${count})`);
  const limited = tooLarge.flatMap(({ source, deliveries }) =>
    source === undefined ? [] : `${source} (${deliveries})`,
  );
  return { ids: sharedIds(shared), copies: copies(copied), sizes: sizes(limited) };
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

/** A sender gives up after a few answers of 413. */
function sizes(sources: readonly string[]): SenderFinding {
  if (sources.length === 0) return { text: "No source answered 413 in the last day" };
  return {
    text: `Bodies were too large in the last day, and got 413: ${sources.join(", ")}`,
    fix: "Set bodyBytesMax of the source to the largest body that its sender documents",
  };
}

export function signingText({ signedSinceMs }: LedgerIdentity): string {
  if (signedSinceMs === undefined) return "not signed";
  return `signed since ${new Date(signedSinceMs).toISOString()}`;
}
