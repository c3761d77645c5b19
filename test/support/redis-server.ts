import { mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { executablePath } from "./executable-path.ts";
import { freePort } from "./free-port.ts";
import type { PrivateCa } from "./private-ca.ts";
import { startServerProcess } from "./server-process.ts";

export type TestRedis = Awaited<ReturnType<typeof startRedis>>;

interface RedisServerOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly tls?: PrivateCa | undefined;
}

export async function startRedis(options: RedisServerOptions = {}) {
  const path = redisServerPath();
  if (path === undefined) throw new Error("Cannot start Redis: no redis-server on PATH");
  const folder = await mkdtemp(join(tmpdir(), "millrace-redis-"));
  const port = await freePort();
  const args = [
    ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""],
    ...["--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"],
    ...tlsSettings(port, options.tls).flatMap(([name, value]) => [`--${name}`, value]),
    ...(options.args ?? []),
  ];
  const server = await startServerProcess({
    ...{ name: "Redis", path, args, folder, spawn: { env: { ...process.env, ...options.env } } },
    isReady: () => answersPing(port, options.tls),
  });
  return {
    url: `${options.tls === undefined ? "redis" : "rediss"}://127.0.0.1:${port}`,
    port,
    folder,
    get pid(): number {
      return server.pid;
    },
    kill: () => server.end(),
    restart: async () => {
      await server.end();
      await server.start();
    },
    freeze: () => server.signal("SIGSTOP"),
    thaw: () => server.signal("SIGCONT"),
    stop: async () => {
      await server.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function redisServerPath(): string | undefined {
  return executablePath("redis-server", ["/usr/local/bin", "/usr/bin"]);
}

export function tlsSettings(
  port: number,
  tls: PrivateCa | undefined,
): readonly (readonly [name: string, value: string])[] {
  if (tls === undefined) return [];
  return [
    ["port", "0"],
    ["tls-port", String(port)],
    ["tls-cert-file", tls.certFile],
    ["tls-key-file", tls.keyFile],
    ["tls-ca-cert-file", tls.caFile],
    ["tls-auth-clients", "no"],
    ["tls-replication", "yes"],
  ];
}

export function answersPing(port: number, tls: PrivateCa | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const address = { port, host: "127.0.0.1" };
    const socket =
      tls === undefined ? createConnection(address) : connectTls({ ...address, ca: tls.ca });
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => finish(false));
    socket.once("error", () => finish(false));
    socket.once(tls === undefined ? "connect" : "secureConnect", () => socket.write("PING\r\n"));
    socket.once("data", (data) => finish(/^(\+PONG|-NOAUTH)/.test(data.toString())));
  });
}
