export interface SignatureFormat {
  read(value: string): WrittenSignature;
  write(signature: string, timestamp: string): string;
}

export interface WrittenSignature {
  readonly candidates: readonly string[];
  readonly timestamps: readonly string[];
}

/** Senders write two signatures while a secret changes; ten thousand must not be compared. */
const LIST_ITEMS_MAX = 32;

function firstItems(value: string, separator: string): string[] {
  return value.split(separator, LIST_ITEMS_MAX).map((item) => item.trim());
}

/**
 * Pairs in any order, of which some are signatures and one can be the time: `t=<time>,v1=<hex>`.
 * Other names are skipped. A header that came twice has two times and is refused.
 */
export function pairSignature(options: {
  separator: string;
  signature: string;
  time?: string | undefined;
}): SignatureFormat {
  const { separator, signature, time } = options;
  return {
    read(value) {
      const pairs = firstItems(value, separator);
      const timestamps = time === undefined ? [] : named(pairs, time);
      return { candidates: named(pairs, signature), timestamps };
    },
    write: (text, ts) =>
      `${time === undefined ? "" : `${time}=${ts}${separator}`}${signature}=${text}`,
  };
}

function named(pairs: readonly string[], name: string): string[] {
  const start = `${name}=`;
  return pairs.filter((pair) => pair.startsWith(start)).map((pair) => pair.slice(start.length));
}

/**
 * One signature, behind a fixed prefix if there is one: `sha256=<hex>`. A header that came twice
 * reads "a, b" and is refused.
 */
export function plainSignature(prefix = ""): SignatureFormat {
  return {
    read: (value) => ({
      candidates: value.startsWith(prefix) ? [value.slice(prefix.length)] : [],
      timestamps: [],
    }),
    write: (signature) => prefix + signature,
  };
}

/**
 * A list with spaces between, each item a version and a signature: `v1,<base64> v1,<base64>`. Of
 * a version with the letter of another algorithm (`v1a`) that letter stays in front; others are
 * skipped. A header that came twice is one longer list.
 */
export function versionList(version: string): SignatureFormat {
  const versions = [`${version},`, `${version}a,`];
  return {
    read(value) {
      const items = firstItems(value, " ").filter((item) =>
        versions.some((start) => item.startsWith(start)),
      );
      // Headers that came twice are joined with ", ": the comma is no part of the signature.
      const candidates = items.map((item) =>
        item.slice(version.length).replace(/^,/, "").replace(/,$/, ""),
      );
      return { candidates, timestamps: [] };
    },
    write: (signature) => `${version},${signature}`,
  };
}
