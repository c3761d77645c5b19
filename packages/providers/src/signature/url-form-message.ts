import { createHash, timingSafeEqual } from "node:crypto";
import { readForm, type FormField } from "../form-fields.ts";
import type { Message } from "./signature-algorithm.ts";
import type { MessageMaker } from "./signature-scheme.ts";
import { urlsOfDelivery } from "./signed-url.ts";

/**
 * What Twilio signs: the URL that it called, and behind it every field of the form, names sorted, name and value
 * with nothing between; of a name that comes twice each value once, sorted. A body that is no form is covered by its
 * SHA-256 in the URL (`bodySHA256`), which alone is signed then.
 *
 * Nothing marks where a name ends and its value begins, so the same characters cut otherwise are the same message.
 *
 * Source: twilio-node's lib/webhooks/webhooks.js.
 */
export function urlFormMessage(base: string): MessageMaker {
  return ({ url, body }) => {
    const fields = signedFields(url, body);
    if (fields === undefined) return [];
    const text = Buffer.from(fields.join(""), "utf8");
    return urlsOfDelivery(base, url).map((signed): Message => [signed, text]);
  };
}

function signedFields(url: string, body: Uint8Array): readonly string[] | undefined {
  const announced = bodyHashIn(url);
  if (announced === undefined) {
    const fields = readForm(body);
    return fields && sortedFields(fields);
  }
  const actual = Buffer.from(createHash("sha256").update(body).digest("hex"));
  const wanted = Buffer.from(announced);
  return wanted.length === actual.length && timingSafeEqual(wanted, actual) ? [] : undefined;
}

function sortedFields(fields: readonly FormField[]): string[] {
  const values = new Map<string, Set<string>>();
  for (const [name, value] of fields) {
    values.set(name, (values.get(name) ?? new Set()).add(value));
  }
  return [...values]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, set]) => [...set].toSorted().map((value) => name + value));
}

function bodyHashIn(url: string): string | undefined {
  const at = url.indexOf("?");
  if (at === -1) return undefined;
  return new URLSearchParams(url.slice(at + 1)).get("bodySHA256") ?? undefined;
}
