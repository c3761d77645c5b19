import type { ParsedSignature } from "./signature-options.ts";

export interface SignatureFormat {
  read(value: string): {
    readonly candidates: readonly string[];
    readonly timestamps: readonly string[];
  };
  write(signature: string, timestamp: string): string;
}

/** Senders write two signatures while a secret changes; ten thousand must not be compared. */
const LIST_ITEMS_MAX = 32;

/**
 * The way that signatures stand in their header: alone, where a header that came twice reads "a, b"
 * and is refused; among pairs in any order (`t=<time>,v1=<hex>`), where one that came twice has two
 * times and is refused; or in the list of Standard Webhooks (`v1,<base64> v1a,<base64>`), where one
 * that came twice is a longer list. Items of other names are skipped.
 */
export function formatOf({ algorithm, pairs, prefix }: ParsedSignature): SignatureFormat {
  const isList = algorithm === "standard";
  const separator = isList ? " " : pairs?.separator;
  const name = pairs === undefined ? prefix : `${pairs.signature}=`;
  const timeName = pairs?.time === undefined ? undefined : `${pairs.time}=`;
  return {
    read(value) {
      const items =
        separator === undefined
          ? [value]
          : value.split(separator, LIST_ITEMS_MAX).map((item) => item.trim());
      return {
        candidates: behind(isList ? "v1" : name, items),
        timestamps: timeName === undefined ? [] : behind(timeName, items),
      };
    },
    write: (text, ts) =>
      (timeName === undefined ? "" : timeName + ts + separator) + (isList ? "v1," : name) + text,
  };
}

function behind(name: string, items: readonly string[]): string[] {
  return items.filter((item) => item.startsWith(name)).map((item) => item.slice(name.length));
}
