import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer, type AddressInfo, type Server } from "node:net";

export async function listenOnLoopback(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

/** An HTTP server on a free port. Its `close` cuts the connections that are open. */
export async function serve(listener?: RequestListener) {
  const server = createHttpServer(listener);
  const port = await listenOnLoopback(server);
  const close = async () => server.close().closeAllConnections();
  return { server, port, url: `http://127.0.0.1:${port}`, close };
}

/** None that the kernel gives to a client, which could take it while its server is not up. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000);
    const server = createServer();
    const isFree = new Promise((resolve) =>
      server.once("listening", resolve).once("error", resolve),
    );
    server.listen(port, "127.0.0.1");
    const error = await isFree;
    await new Promise((resolve) => server.close(resolve));
    if (error === undefined) return port;
  }
}
