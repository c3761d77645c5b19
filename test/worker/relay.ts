import { createConnection, createServer, type Socket } from "node:net";

/** A TCP relay whose far end can come later, go away and come back. */
export interface Relay {
  readonly port: number;
  open(): Promise<void>;
  /** Stops listening and cuts every connection. */
  cut(): Promise<void>;
}

/** Relays a port of loopback to a server's. It refuses connections until it is opened. */
export function createRelay(port: number, target: { host: string; port: number }): Relay {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = createConnection(target);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  return {
    port,
    open: () =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, "127.0.0.1", () => resolve());
      }),
    cut: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        if (server.listening) server.close(() => resolve());
        else resolve();
      }),
  };
}
