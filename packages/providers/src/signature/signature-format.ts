/** How signatures stand in a header's value. */
export interface SignatureFormat {
  read(value: string): WrittenSignature;
  write(signature: string, timestamp: string): string;
}

/** What a header's value holds: what may be signatures, and the times that stand beside them. */
export interface WrittenSignature {
  readonly candidates: readonly string[];
  readonly timestamps: readonly string[];
}

/**
 * Items of a list that are looked at; what stands behind them is not. While a secret is being
 * changed senders write two signatures, and ten thousand must not cost ten thousand comparisons.
 */
const LIST_ITEMS_MAX = 32;

/** The first items of a list, trimmed. */
export function firstItems(value: string, separator: string): string[] {
  return value.split(separator, LIST_ITEMS_MAX).map((item) => item.trim());
}
