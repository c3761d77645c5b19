export interface SignatureFormat {
  read(value: string): WrittenSignature;
  write(signature: string, timestamp: string): string;
}

export interface WrittenSignature {
  readonly candidates: readonly string[];
  readonly timestamps: readonly string[];
}

/** The way that signatures stand in their header: among pairs, in a list, or one alone. */
interface FormatOptions {
  readonly pairs?: Pairs | undefined;
  readonly list?: string | undefined;
  readonly prefix: string;
}

interface Pairs {
  readonly separator: string;
  readonly signature: string;
  readonly time?: string | undefined;
}

export function formatOf({ pairs, list, prefix }: FormatOptions): SignatureFormat {
  if (pairs !== undefined) return pairSignature(pairs);
  if (list !== undefined) return versionList(list);
  return {
    // A header that came twice reads "a, b" and is refused.
    read: (value) => ({ candidates: behind(prefix, [value]), timestamps: [] }),
    write: (signature) => prefix + signature,
  };
}

/** Senders write two signatures while a secret changes; ten thousand must not be compared. */
const LIST_ITEMS_MAX = 32;

function firstItems(value: string, separator: string): string[] {
  return value.split(separator, LIST_ITEMS_MAX).map((item) => item.trim());
}

function behind(prefix: string, items: readonly string[]): string[] {
  return items.filter((item) => item.startsWith(prefix)).map((item) => item.slice(prefix.length));
}

/**
 * Pairs in any order, of which some are signatures and one can be the time: `t=<time>,v1=<hex>`.
 * Other names are skipped. A header that came twice has two times and is refused.
 */
function pairSignature({ separator, signature, time }: Pairs): SignatureFormat {
  return {
    read(value) {
      const items = firstItems(value, separator);
      return {
        candidates: behind(`${signature}=`, items),
        timestamps: time === undefined ? [] : behind(`${time}=`, items),
      };
    },
    write: (text, ts) =>
      `${time === undefined ? "" : `${time}=${ts}${separator}`}${signature}=${text}`,
  };
}

/**
 * A list with spaces between, each item a version and a signature: `v1,<base64> v1,<base64>`. Of
 * a version with the letter of another algorithm (`v1a`) that letter stays in front; others are
 * skipped. A header that came twice is one longer list, with commas that are no part of it.
 */
function versionList(version: string): SignatureFormat {
  return {
    read(value) {
      const items = firstItems(value, " ").map((item) => item.replace(/,$/, ""));
      const others = behind(version, items).filter((item) => item.startsWith("a,"));
      return { candidates: [...behind(`${version},`, items), ...others], timestamps: [] };
    },
    write: (signature) => `${version},${signature}`,
  };
}
