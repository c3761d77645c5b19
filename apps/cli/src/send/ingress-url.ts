import { MillraceError } from "@millrace/core";
import { readRun } from "../run-file.ts";
import type { Settings } from "../settings.ts";

/**
 * Where a source's deliveries go: the URL that was asked for, else the `millrace start` that runs
 * here, else INGRESS_PORT on this machine.
 *
 * @throws `invalid_request` when the URL is none.
 */
export async function ingressUrl(
  source: string,
  asked: string | undefined,
  settings: Settings,
): Promise<URL> {
  const path = `/webhooks/${source}`;
  if (asked !== undefined) return withPath(asked, path);
  const run = await readRun(settings.dataDir);
  return withPath(
    run?.ingress_url ?? `http://127.0.0.1:${settings.environment.INGRESS_PORT}`,
    path,
  );
}

function withPath(text: string, path: string): URL {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw new MillraceError(
      "invalid_request",
      `Cannot send to "${text}": it is not a URL that begins with http:// or https://`,
    );
  }
  const url = new URL(text);
  if (!url.pathname.endsWith(path)) url.pathname = `${url.pathname.replace(/\/$/, "")}${path}`;
  return url;
}
