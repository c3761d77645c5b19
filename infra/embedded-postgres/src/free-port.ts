import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Whether nobody listens on a port of loopback just now. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** A free port below those that systems give to outgoing connections, so that it can be kept. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(20_000, 32_000);
    if (await isFree(port)) return port;
  }
  throw new Error("Cannot find a free port: a hundred between 20000 and 32000 are taken");
}
