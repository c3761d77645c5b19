import { createServer } from "node:http";
import { isMillraceError, MillraceError } from "@millrace/core";
import { hasErrno } from "@millrace/embedded-postgres";
import { closeServer, listen } from "@millrace/service";

const TRIES = 200;

/** @throws `port_in_use` when 200 are taken; `invalid_config` for another machine's host */
export async function freePort(wanted: number, host: string, taken: Set<number>): Promise<number> {
  for (let port = wanted; port < wanted + TRIES && port <= 65_535; port += 1) {
    if (taken.has(port)) continue;
    // Before the wait, so that another search at the same time leaves it alone.
    taken.add(port);
    if (await isFree(port, host)) return port;
    taken.delete(port);
  }
  throw new MillraceError(
    "port_in_use",
    `Cannot find a free port on ${host}: ${TRIES} from ${wanted} on are taken`,
  );
}

export async function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer();
  try {
    await listen(server, { port, host });
  } catch (error) {
    const cause = isMillraceError(error) ? error.cause : undefined;
    // Taken, or kept for root.
    if (hasErrno(cause, "EADDRINUSE") || hasErrno(cause, "EACCES")) return false;
    throw error;
  }
  await closeServer(server, { timeoutMs: 0 });
  return true;
}
