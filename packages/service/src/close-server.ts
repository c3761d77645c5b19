import type { Server } from "node:http";

/**
 * Stops accepting, lets requests that are under way finish, and cuts what is left after
 * `timeoutMs` milliseconds.
 */
export function closeServer(server: Server, options: { timeoutMs: number }): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    const cut = setTimeout(() => server.closeAllConnections(), options.timeoutMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
