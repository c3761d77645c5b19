import { MillraceError, readForm, type FormField } from "@millrace/core";
import { createHash, timingSafeEqual } from "node:crypto";
import type { Message, MessageMaker } from "./signature-algorithm.ts";

/**
 * The address at which a sender reaches a source, for senders that sign it. It is configured:
 * behind a proxy `Host` and `X-Forwarded-*` are not what the sender saw, and anyone can write
 * them.
 * @throws `invalid_config` when it is no absolute http or https URL
 */
export function readSignedUrl(provider: string, url: unknown, rule: { query: boolean }): string {
  const refuse = (why: string) =>
    new MillraceError("invalid_config", `Cannot use ${provider}({ url }): it ${why}`);
  // Braces would be placeholders of a template; a browser writes them %7B and %7D.
  if (typeof url !== "string" || !/^https?:\/\/[\x21-\x7e]+$/.test(url) || /[{}]/.test(url)) {
    throw refuse("must be the whole URL that is registered there, from https:// on");
  }
  if (!URL.canParse(url)) throw refuse("is not a URL");
  if (url.includes("#")) throw refuse("must have no fragment: it is never sent");
  if (!rule.query && url.includes("?")) {
    throw refuse("must have no query: that is taken from each delivery");
  }
  return url;
}

const DEFAULT_PORTS = { http: ":80", https: ":443" } as const;

function urlsOfDelivery(base: string, requestUrl: string): readonly string[] {
  const query = requestUrl.indexOf("?");
  const url = query === -1 ? base : base + requestUrl.slice(query);
  const parts = /^(https?)(:\/\/[^/?#:[\]]+)(:\d+)?([/?#].*)?$/.exec(url);
  if (parts === null) return [url];
  const [, scheme, host, port = "", rest = ""] = parts;
  const defaultPort = scheme === "https" ? DEFAULT_PORTS.https : DEFAULT_PORTS.http;
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
  return urlsOfDelivery(base, url).map((signed): Message => [signed, text]);
};

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
