import { isIP } from "node:net";
import { MillraceError } from "@millrace/core";
import type { RequestHandler } from "express";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);
const WILDCARDS = new Set(["0.0.0.0", "::"]);

/**
 * Refuses requests that name a host which is not ours with 403 `forbidden`, so that a web page
 * whose own name was pointed at this address (DNS rebinding) reads nothing. Ours are the loopback
 * names, the host that we listen on, and those in `hosts`, on any port. A server that listens on
 * every address also takes its addresses: rebinding needs a name.
 */
export function checkHost(options: {
  boundHost: string;
  hosts?: readonly string[];
}): RequestHandler {
  const known = new Set([
    ...LOOPBACK,
    inUrl(options.boundHost),
    ...(options.hosts ?? []).map((host) => host.toLowerCase()),
  ]);
  const takesAddresses = WILDCARDS.has(options.boundHost);
  return (request, _response, next) => {
    const host = hostOf(request.headers.host);
    if (host !== undefined && (known.has(host) || (takesAddresses && isAddress(host)))) {
      return next();
    }
    next(
      new MillraceError("forbidden", "Cannot serve this request: its Host is not this server's"),
    );
  };
}

function hostOf(header: string | undefined): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[^:[\]/@\s]+)(?::\d{1,5})?$/i.exec(header ?? "")?.[1]?.toLowerCase();
}

const isAddress = (host: string): boolean => isIP(host.replace(/^\[|\]$/g, "")) !== 0;
const inUrl = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host).toLowerCase();
