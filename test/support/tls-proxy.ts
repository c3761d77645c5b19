import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { TLSSocket } from "node:tls";
import { listenOnLoopback } from "./free-port.ts";

const FIXTURE = fileURLToPath(new URL("../fixtures/private-ca/", import.meta.url));

export const CA_FILE = `${FIXTURE}ca.pem`;

export type TlsProxy = Awaited<ReturnType<typeof startTlsProxy>>;

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

export async function startTlsProxy(serverUrl: string) {
  const { port, protocol } = new URL(serverUrl);
  const key = readFileSync(`${FIXTURE}server-key.pem`);
  const cert = readFileSync(`${FIXTURE}server.pem`);
  const sockets = new Set<Socket>();
  let connections = 0;

  const track = <Kind extends Socket>(socket: Kind): Kind => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  const encrypt = (client: Socket) => {
    const secure = track(new TLSSocket(client, { isServer: true, key, cert }));
    secure.on("secure", () => {
      connections += 1;
      const upstream = track(connect(Number(port), "127.0.0.1"));
      secure.pipe(upstream).pipe(secure);
      secure.on("close", () => upstream.destroy());
      upstream.on("close", () => secure.destroy());
    });
  };
  const server = createServer((client) => {
    track(client);
    if (protocol.startsWith("redis")) return encrypt(client);
    client.once("data", (data) => {
      if (!data.equals(SSL_REQUEST)) return client.destroy();
      client.write("S");
      encrypt(client);
    });
  });
  return {
    port: await listenOnLoopback(server),
    get connections(): number {
      return connections;
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
