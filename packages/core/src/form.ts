import { isUtf8 } from "node:buffer";

/** A field of a form: its name and its value, decoded. */
export type FormField = readonly [name: string, value: string];

/**
 * Reads `application/x-www-form-urlencoded` strictly. Undefined when an escape is none, or its bytes are no UTF-8:
 * what stands for such bytes is the same for all of them, so two bodies would read alike.
 */
export function readForm(body: Uint8Array): readonly FormField[] | undefined {
  if (!isUtf8(body)) return undefined;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  try {
    return text
      .split("&")
      .filter((pair) => pair !== "")
      .map((pair) => {
        const at = pair.indexOf("=");
        return at === -1
          ? ([decode(pair), ""] as const)
          : ([decode(pair.slice(0, at)), decode(pair.slice(at + 1))] as const);
      });
  } catch {
    return undefined;
  }
}

/** @throws URIError for an escape that is none, or bytes that are no UTF-8. */
function decode(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}
