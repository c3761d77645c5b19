import { MillraceError } from "@millrace/core";
import type { Server } from "node:http";

/**
 * Returns the port; 0 picks a free one. @throws `port_in_use`; `invalid_config` if the host is not
 * an address of this machine, or this user may not use the port
 */
export function listen(server: Server, options: { port: number; host: string }): Promise<number> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(explain(error, options));
    server.once("error", refuse);
    server.listen(options.port, options.host, () => {
      server.off("error", refuse);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : options.port);
    });
  });
}

const REFUSALS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is taken",
  EACCES: "this user may not. Ports below 1024 are often kept for root",
  EADDRNOTAVAIL: "HOST is no address of this machine",
  ENOTFOUND: "HOST is no address, and no name of one",
};

function explain(error: NodeJS.ErrnoException, { port, host }: { port: number; host: string }) {
  const why = REFUSALS[error.code ?? ""];
  if (why === undefined) return error;
  const code = error.code === "EADDRINUSE" ? "port_in_use" : "invalid_config";
  return new MillraceError(code, `Cannot listen on ${host}:${port}: ${why}`, { cause: error });
}

/** Stops accepting connections, lets requests finish, and closes the rest after `timeoutMs`. */
export function closeServer(server: Server, options: { timeoutMs: number }): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    const cut = setTimeout(() => server.closeAllConnections(), options.timeoutMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
  });
}
