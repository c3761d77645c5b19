import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { until } from "../support/until.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BIN = join(ROOT, "apps/cli/bin/millrace.mjs");

/** What `run.json` says. */
export interface Run {
  readonly pid: number;
  readonly ingress_url: string;
  readonly dashboard_url: string;
  readonly database_url: string;
  readonly processes: readonly { name: string; pid: number; port: number }[];
}

/** A `millrace start` in a process of its own. */
export interface StartProcess {
  readonly pid: number;
  output(): string;
  /** Waits until it greets. */
  greeted(): Promise<void>;
  run(): Promise<Run>;
  signal(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, or with the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/** Has a start keep its data in a folder, and look for ports from 20,000 on. */
export function startEnvironment(dataDir: string): Readonly<Record<string, string>> {
  return {
    MILLRACE_DATA_DIR: dataDir,
    INGRESS_PORT: "20000",
    DASHBOARD_PORT: "20100",
    WORKER_PORT: "20200",
  };
}

/** Runs `millrace start` in the environment of `startEnvironment`. */
export function startMillrace(
  dataDir: string,
  env: Readonly<Record<string, string | undefined>> = {},
  args: readonly string[] = [],
): StartProcess {
  const child = spawn(process.execPath, [BIN, "start", ...args], {
    cwd: ROOT,
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      ...startEnvironment(dataDir),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const chunks: string[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
  const output = () => chunks.join("");
  let isOver = false;
  const ended = once(child, "close").then(([code, signal]: (number | NodeJS.Signals)[]) => {
    isOver = true;
    return code ?? signal ?? "SIGKILL";
  });
  const greeted = async () => {
    await until(() => isOver || output().includes("Ctrl-C stops"), { what: "the greeting" });
    if (isOver) throw new Error(`Cannot start: it ended\n${output()}`);
    await until(() => runOf(dataDir));
  };
  return {
    pid: child.pid ?? -1,
    output,
    greeted,
    run: () => runOf(dataDir),
    signal: (signal) => void child.kill(signal),
    ended,
  };
}

/** Asks the database of a run, on a connection of its own. */
export async function ask<Row extends pg.QueryResultRow>(
  databaseUrl: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  // A test may kill its server.
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** The status of an event that a run has recorded. */
export async function statusOf(databaseUrl: string, id: string): Promise<string | undefined> {
  const [row] = await ask<{ status: string }>(
    databaseUrl,
    "select status from webhook_events where event_id = $1",
    [id],
  );
  return row?.status;
}

async function runOf(dataDir: string): Promise<Run> {
  return JSON.parse(await readFile(join(dataDir, "run.json"), "utf8")) as Run;
}
