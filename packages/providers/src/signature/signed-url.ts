import { readForm, type FormField, type SignedMessage } from "@millrace/core";
import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { queryOf } from "../identity/locations.ts";
import type { MessageMaker } from "./signature-options.ts";

/** Options of a sender that signs the URL that it calls. */
export interface UrlOptions {
  /** The URL exactly as it is registered at the sender. Default: that of `publicUrl`. */
  readonly url?: string | undefined;
}

/**
 * The address at which a sender reaches a source, for senders that sign it. It is configured:
 * behind a proxy `Host` and `X-Forwarded-*` are not what the sender saw, and anyone can write
 * them. Braces would be placeholders of a template; a browser writes them %7B and %7D.
 */
export const signedUrl = z
  .string()
  .regex(
    /^https?:\/\/[^#{}\s\x7f-\uffff]+$/,
    "must be the whole URL that is registered there, from https:// on, without a fragment",
  )
  .refine((url) => URL.canParse(url), "must be a URL");

function urlsOfDelivery(base: string, requestUrl: string): readonly string[] {
  const url = base + queryOf(requestUrl);
  const parts = /^(https?)(:\/\/[^/?#:[\]]+)(:\d+)?([/?#].*)?$/.exec(url);
  if (parts === null) return [url];
  const [, scheme, host, port = "", rest = ""] = parts;
  const defaultPort = scheme === "https" ? ":443" : ":80";
  if (port !== "" && port !== defaultPort) return [url];
  return [`${scheme}${host}${rest}`, `${scheme}${host}${defaultPort}${rest}`];
}

/**
 * The message that Twilio signs: the URL that it called, and behind it every field of the form,
 * names sorted, name and value with nothing between; of a name that comes twice each value once,
 * sorted. A body that is no form is covered by its SHA-256 in the URL (`bodySHA256`), which alone
 * is signed then.
 *
 * Nothing marks where a name ends and its value begins, so the same characters cut otherwise are
 * the same message.
 *
 * Source: twilio-node's lib/webhooks/webhooks.js.
 */
export const urlFormMessage: MessageMaker = ({ url, body }, base) => {
  const fields = signedFields(url, body);
  if (fields === undefined) return [];
  const text = Buffer.from(fields.join(""), "utf8");
  return urlsOfDelivery(base, url).map((signed): SignedMessage => [signed, text]);
};

function signedFields(url: string, body: Uint8Array): readonly string[] | undefined {
  const announced = new URLSearchParams(queryOf(url)).get("bodySHA256");
  if (announced === null) {
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
