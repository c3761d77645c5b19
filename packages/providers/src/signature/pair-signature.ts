import { firstItems, type SignatureFormat } from "./signature-format.ts";

/**
 * Pairs in any order, of which some are signatures and one is the time: `t=<time>,v1=<hex>,...`.
 * Any signature will do; pairs with other names are another scheme's and skipped. A header that
 * came twice has two times and is refused.
 */
export function pairSignature(options: {
  separator: string;
  signature: string;
  timestamp: string;
}): SignatureFormat {
  const { separator, signature, timestamp } = options;
  return {
    read(value) {
      const pairs = firstItems(value, separator);
      return { candidates: named(pairs, signature), timestamps: named(pairs, timestamp) };
    },
    write: (text, time) => `${timestamp}=${time}${separator}${signature}=${text}`,
  };
}

function named(pairs: readonly string[], name: string): string[] {
  const start = `${name}=`;
  return pairs.filter((pair) => pair.startsWith(start)).map((pair) => pair.slice(start.length));
}
