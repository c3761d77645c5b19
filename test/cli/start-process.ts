import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "../support/millrace-process.ts";
import { queryOnce } from "../support/query-once.ts";
import { millrace } from "../support/run-in-process.ts";
import { until } from "../support/until.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export const PIPELINE = fileURLToPath(
  new URL("../fixtures/pipeline/millrace.config.ts", import.meta.url),
);

export interface Run {
  readonly pid: number;
  readonly ingress_url: string;
  readonly dashboard_url: string;
  readonly database_url: string;
  readonly processes: readonly { name: string; pid: number; port: number }[];
}

export type StartProcess = ReturnType<typeof startMillrace>;

export function startEnvironment(dataDir: string): Readonly<Record<string, string>> {
  return {
    MILLRACE_DATA_DIR: dataDir,
    INGRESS_PORT: "20000",
    DASHBOARD_PORT: "20100",
    WORKER_PORT: "20200",
  };
}

export function startMillrace(
  dataDir: string,
  env: Readonly<Record<string, string | undefined>> = {},
  args: readonly string[] = [],
) {
  const { child, output } = launch(
    ["start", ...args],
    { ...startEnvironment(dataDir), ...env },
    { cwd: ROOT, ipc: false },
  );
  let isOver = false;
  const ended = once(child, "close").then(([code, signal]: (number | NodeJS.Signals)[]) => {
    isOver = true;
    return code ?? signal ?? "SIGKILL";
  });
  const greeted = async () => {
    await until(() => isOver || /Ctrl-C stops|"ingress_url"/.test(output()), {
      what: "the greeting",
    });
    if (isOver) throw new Error(`Cannot start: it ended\n${output()}`);
    await until(() => runOf(dataDir));
  };
  return {
    pid: child.pid ?? -1,
    output,
    greeted,
    run: () => runOf(dataDir),
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    ended,
  };
}

export async function refusedStart(
  dataDir: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
) {
  const { code, stdout, stderr } = await millrace(["start", ...args], {
    env: { ...startEnvironment(dataDir), MILLRACE_CONFIG: PIPELINE, ...env },
  });
  return { code, output: stdout + stderr };
}

export async function statusOf(databaseUrl: string, id: string): Promise<string | undefined> {
  const [row] = await queryOnce<{ status: string }>(
    databaseUrl,
    "select status from webhook_events where event_id = $1",
    [id],
  );
  return row?.status;
}

async function runOf(dataDir: string): Promise<Run> {
  return JSON.parse(await readFile(join(dataDir, "run.json"), "utf8")) as Run;
}
