import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import type { Failpoint } from "@millrace/core";
import { BIN, spawnProgram } from "../../support/millrace-process.ts";
import { until } from "../../support/until.ts";

const PRELOAD = new URL("../preload.mjs", import.meta.url).href;
const STRUCK = /^STRUCK (\S+)$/gm;

export type RoleKind = "ingress" | "worker" | "dashboard";

export interface Outage {
  readonly fromMs: number;
  toMs: number;
}

export type Role = ReturnType<typeof createRole>;

export interface RoleOptions {
  readonly name: string;
  readonly kind: RoleKind;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logFile: string;
  readonly bin?: string | undefined;
  readonly openFilesMax?: number | undefined;
  readonly outputTo?: string | undefined;
  onSpawn(pid: number | undefined): void;
}

export function createRole(options: RoleOptions) {
  const { name, kind, env, logFile, onSpawn } = options;
  const log = createWriteStream(logFile, { flags: "a" });
  const outages: Outage[] = [];
  const unexpected: string[] = [];
  const strikes = new Map<string, number>();
  const deadly = new Set(["handler.dies"]);
  let child: ChildProcess | undefined;
  let starting: Promise<void> | undefined;
  let url = "";
  let outage: Outage | undefined;
  let retired = false;
  let baseline = Promise.reject<Footprint>(new Error(`${name} was never started`));
  baseline.catch(() => {});
  let ours = { expected: true };

  function beginOutage(): void {
    if (outage !== undefined) return;
    outage = { fromMs: performance.now(), toMs: Infinity };
    outages.push(outage);
  }

  function onOutput(chunk: Buffer, life: { expected: boolean }): void {
    log.write(chunk);
    for (const [, trap = ""] of chunk.toString().matchAll(STRUCK)) {
      strikes.set(trap, (strikes.get(trap) ?? 0) + 1);
      if (!deadly.has(trap)) continue;
      life.expected = true;
      beginOutage();
    }
  }

  function start(): Promise<void> {
    starting ??= startUntilUp().finally(() => {
      starting = undefined;
    });
    return starting;
  }

  async function startUntilUp(): Promise<void> {
    // Poison that waits in a queue ends a worker before it has said that it listens.
    while (!(await startOnce()));
  }

  /** False when it was struck while it started. @throws when it ended by itself. */
  async function startOnce(): Promise<boolean> {
    beginOutage();
    const [command, args] = commandOf(options);
    const started = spawnProgram(command, args, { NODE_OPTIONS: `--import ${PRELOAD}`, ...env });
    child = started;
    const life = { expected: false };
    ours = life;
    onSpawn(started.pid);
    started.stdout?.on("data", (chunk: Buffer) => onOutput(chunk, life));
    started.stderr?.on("data", (chunk: Buffer) => onOutput(chunk, life));
    // A message to a process that is just gone.
    started.on("error", () => {});
    started.on("exit", () => {
      url = "";
      beginOutage();
    });
    // By then all that it wrote has come, and with it whether we struck it.
    started.on("close", (code, signal) => {
      if (!life.expected) unexpected.push(`${name} exited by itself with ${code ?? signal}`);
    });
    const port = await listening(started, name);
    if (port === undefined) {
      if (life.expected) return false;
      throw new Error(`Cannot start ${name}: it exited with ${started.exitCode}`);
    }
    baseline = measureFootprint(started, name);
    // It may be struck before it answers; the one that comes after it has another.
    baseline.catch(() => {});
    url = `http://127.0.0.1:${port}`;
    if (outage !== undefined) outage.toMs = performance.now();
    outage = undefined;
    return true;
  }

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (child === undefined || isOver(child)) return child?.exitCode ?? null;
    ours.expected = true;
    beginOutage();
    const over = once(child, "close");
    child.kill(signal);
    await over;
    return child.exitCode;
  }

  /** Ends it as a deploy does, and nobody starts it again. @throws when it does not exit with 0. */
  async function retire(): Promise<void> {
    retired = true;
    const code = await end("SIGTERM");
    if (code !== 0) throw new Error(`${name} exited with ${code} on SIGTERM`);
  }

  return {
    name,
    kind,
    outages: outages as readonly Outage[],
    unexpected: unexpected as readonly string[],
    strikes: strikes as ReadonlyMap<string, number>,
    get url(): string {
      return url;
    },
    get pid(): number {
      return child?.pid ?? -1;
    },
    get up(): boolean {
      return url !== "";
    },
    get retired(): boolean {
      return retired;
    },
    start,
    end,
    retire,
    signal: (signal: NodeJS.Signals) => void child?.kill(signal),
    arm: (
      failpoint: Failpoint,
      { signal = "SIGKILL", skip = 0 }: { signal?: NodeJS.Signals; skip?: number } = {},
    ) => {
      if (signal === "SIGKILL") deadly.add(failpoint);
      else deadly.delete(failpoint);
      sendTo(child, { kind: "arm", failpoint, signal, skip });
    },
    disarm: (failpoint: Failpoint) => sendTo(child, { kind: "disarm", failpoint }),
    measure: () => measureFootprint(child, name),
    baseline: () => baseline,
    skew: (ms: number) => sendTo(child, { kind: "skew", ms }),
  };
}

function commandOf({
  kind,
  bin = BIN,
  openFilesMax,
  outputTo,
}: RoleOptions): [string, readonly string[]] {
  if (openFilesMax === undefined && outputTo === undefined) return [process.execPath, [bin, kind]];
  const limit = openFilesMax === undefined ? "" : `ulimit -n ${openFilesMax} && `;
  const output = outputTo === undefined ? "" : ` > '${outputTo}'`;
  return ["sh", ["-c", `${limit}exec "$0" "$@"${output}`, process.execPath, bin, kind]];
}

async function listening(child: ChildProcess, name: string): Promise<number | undefined> {
  let port: number | undefined;
  let ended = false;
  child.on("message", (message: { kind?: string; port?: number }) => {
    if (message.kind === "listening") port = message.port;
  });
  child.on("close", () => {
    ended = true;
  });
  await until(() => ended || port !== undefined, {
    what: `${name} listening`,
    withinMs: 90_000,
  });
  return port;
}

function isOver(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function sendTo(child: ChildProcess | undefined, message: Record<string, unknown>): void {
  if (child?.connected === true) child.send(message, () => {});
}

export interface Footprint {
  readonly heapBytes: number;
  readonly outsideBytes: number;
  readonly resources: Readonly<Record<string, number>>;
}

/** Asks a process that has the preload. @throws when it ends before it answers. */
export async function measureFootprint(
  child: ChildProcess | undefined,
  name: string,
): Promise<Footprint> {
  let footprint: Footprint | undefined;
  const onMessage = (message: unknown) => {
    if (isFootprint(message)) footprint = message;
  };
  child?.on("message", onMessage);
  try {
    if (child?.connected === true) child.send({ kind: "measure" }, () => {});
    await until(() => footprint ?? child?.connected !== true, { what: `${name} measured` });
  } finally {
    child?.off("message", onMessage);
  }
  if (footprint === undefined) throw new Error(`Cannot measure ${name}: it is gone`);
  return footprint;
}

function isFootprint(message: unknown): message is Footprint {
  return (message as { kind?: unknown }).kind === "footprint";
}

export type Reaper = ReturnType<typeof createReaper>;

export function createReaper() {
  const pids = new Set<number>();
  process.on("exit", () => {
    for (const pid of pids) endNow(pid);
  });
  // A signal without a listener would end this process without its exit event.
  if (process.listenerCount("SIGTERM") === 0) process.once("SIGTERM", () => process.exit(143));
  return {
    watch: (pid: number | undefined) => pid !== undefined && pids.add(pid),
    forget: (pid: number | undefined) => pid !== undefined && pids.delete(pid),
  };
}

function endNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {}
}
