import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endWithThisProcess } from "./end-with-process.ts";
import { executablePath } from "./executable-path.ts";
import { freePort } from "./free-port.ts";
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
    ...(options.args ?? []),
  ];
  const place = { port, folder, env: options.env };
  let child = await launch(path, args, place);
  const kill = async (signal: NodeJS.Signals = "SIGKILL") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
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

/** Starts a process of redis-server, and waits until it answers. */
export async function launch(
  path: string,
  args: readonly string[],
  { port, folder, env }: { port: number; folder: string; env?: RedisServerOptions["env"] },
): Promise<ChildProcess> {
  const child = spawn(path, args, { stdio: "ignore", env: { ...process.env, ...env } });
  if (child.pid !== undefined) child.once("exit", endWithThisProcess(child.pid, folder));
  const over = once(child, "exit").then(([code]) => {
    throw new Error(`Cannot start Redis: it exited with ${code}`);
  });
  over.catch(() => {});
  await Promise.race([
    until(() => answersPing(port), { what: `redis-server on port ${port}` }),
    over,
  ]);
  return child;
}

// A Redis that still reads its AOF accepts connections and answers LOADING.
function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => finish(false));
    socket.once("error", () => finish(false));
    socket.once("connect", () => socket.write("PING\r\n"));
    socket.once("data", (data) => finish(/^(\+PONG|-NOAUTH)/.test(data.toString())));
  });
}
