import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { endWithThisProcess } from "./end-with-process.ts";
import { executablePath } from "./executable-path.ts";
import { freePort } from "./free-port.ts";
import type { PrivateCa } from "./private-ca.ts";
import { until } from "./until.ts";

/** A redis-server of the test's own, on a free port and in a folder of its own. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Where it keeps its files. */
  readonly folder: string;
  /** SIGKILL, and wait until it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port and the same files. @throws when it exits at once. */
  restart(): Promise<void>;
  /** SIGSTOP and SIGCONT. */
  freeze(): void;
  thaw(): void;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

export interface RedisServerOptions {
  readonly args?: readonly string[];
  /** Further variables of its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** It speaks TLS alone, and to its primary too, with this certificate. */
  readonly tls?: PrivateCa | undefined;
}

/** Starts a Redis as Millrace wants it (AOF everysec, noeviction); `args` come after and win. */
export async function startRedis(options: RedisServerOptions = {}): Promise<TestRedis> {
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
  const place = { port, folder, env: options.env, tls: options.tls };
  let child = await launch(path, args, place);
  const kill = async (signal: NodeJS.Signals = "SIGKILL") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  };
  return {
    url: `${options.tls === undefined ? "redis" : "rediss"}://127.0.0.1:${port}`,
    port,
    folder,
    get pid() {
      return child.pid ?? -1;
    },
    kill: () => kill(),
    restart: async () => {
      await kill();
      child = await launch(path, args, place);
    },
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Where redis-server lies. */
export function redisServerPath(): string | undefined {
  return executablePath("redis-server", ["/usr/local/bin", "/usr/bin"]);
}

/** What makes a Redis or a Sentinel listen with TLS alone. A client needs no certificate. */
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

/** Starts a process of redis-server, and waits until it answers. */
export async function launch(
  path: string,
  args: readonly string[],
  { port, folder, env, tls }: Place,
): Promise<ChildProcess> {
  const child = spawn(path, args, { stdio: "ignore", env: { ...process.env, ...env } });
  if (child.pid !== undefined) child.once("exit", endWithThisProcess(child.pid, folder));
  const over = once(child, "exit").then(([code]) => {
    throw new Error(`Cannot start Redis: it exited with ${code}`);
  });
  over.catch(() => {});
  await Promise.race([
    until(() => answersPing(port, tls), { what: `redis-server on port ${port}` }),
    over,
  ]);
  return child;
}

interface Place extends Pick<RedisServerOptions, "tls"> {
  readonly port: number;
  readonly folder: string;
  readonly env?: RedisServerOptions["env"] | undefined;
}

// A Redis that still reads its AOF accepts connections and answers LOADING.
function answersPing(port: number, tls: PrivateCa | undefined): Promise<boolean> {
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
