import { MillraceError } from "@millrace/core";

/**
 * The address at which a sender reaches a source, for senders that sign it. It is configured, never read from
 * the request: behind a proxy `Host` and `X-Forwarded-*` are not what the sender saw, and anyone can write them.
 *
 * @throws `invalid_config` when it is no absolute http or https URL.
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

/** The address of one delivery, as it may have been signed: with the default port and without. */
export function urlsOfDelivery(base: string, requestUrl: string): readonly string[] {
  const query = requestUrl.indexOf("?");
  const url = query === -1 ? base : base + requestUrl.slice(query);
  const parts = /^(https?)(:\/\/[^/?#:[\]]+)(:\d+)?([/?#].*)?$/.exec(url);
  if (parts === null) return [url];
  const [, scheme, host, port = "", rest = ""] = parts;
  const defaultPort = scheme === "https" ? DEFAULT_PORTS.https : DEFAULT_PORTS.http;
  if (port !== "" && port !== defaultPort) return [url];
  return [`${scheme}${host}${rest}`, `${scheme}${host}${defaultPort}${rest}`];
}
