const PREFIX = "/webhooks/";

/**
 * The source that a request line names, for paths under `/webhooks/`; undefined for all others.
 * Nothing is decoded or folded: a name with an encoded character, a capital or a slash after it is
 * a name that nobody configured.
 */
export function hotRoute(url: string): string | undefined {
  if (!url.startsWith(PREFIX)) return undefined;
  const query = url.indexOf("?", PREFIX.length);
  return query === -1 ? url.slice(PREFIX.length) : url.slice(PREFIX.length, query);
}
