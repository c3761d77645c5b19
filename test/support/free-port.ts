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

export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listenOnLoopback(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
