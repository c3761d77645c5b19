import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { outputOf } from "../support/millrace-process.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly output: string;
}

export type InstalledPackage = Awaited<ReturnType<typeof installPackage>>;

export async function installPackage() {
  const home = await mkdtemp(join(tmpdir(), "millrace-package-"));
  const folder = join(home, "project");
  await mkdir(folder);
  const tarball = await packTarball(home);
  const put = async (files: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  };
  await put({ "package.json": '{ "private": true }\n' });
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
  requireDone("install", await runIn(folder, "npm", ["install", ...quiet, tarball]));
  return {
    folder,
    files: async () => {
      const at = join(folder, "node_modules", "millrace");
      const entries = await readdir(at, { recursive: true });
      return entries.map((path) => path.replaceAll("\\", "/"));
    },
    put,
    run: (command: string, ...args: readonly string[]) => runIn(folder, command, args),
    remove: () => rm(home, { recursive: true, force: true }),
  };
}

/** The path of the package's file, in `folder`. */
export async function packTarball(folder: string): Promise<string> {
  const packed = await runIn(ROOT, process.execPath, ["scripts/pack.mjs", "--out", folder]);
  requireDone("pack", packed);
  return packed.output.trim().split("\n").at(-1) ?? "";
}

function requireDone(what: string, { code, output }: Ran): void {
  if (code !== 0) throw new Error(`Cannot ${what}: it exited with ${code}\n${output}`);
}

type Variables = Readonly<Record<string, string>>;

export async function runIn(
  cwd: string,
  command: string,
  args: readonly string[],
  variables: Variables = {},
): Promise<Ran> {
  const { child, output } = launch(cwd, command, args, variables);
  await once(child, "close");
  return { code: child.exitCode, output: output() };
}

export function startIn(
  cwd: string,
  command: string,
  args: readonly string[],
  variables: Variables = {},
) {
  const { child, output } = launch(cwd, command, args, variables);
  const over = once(child, "close").then(() => child.exitCode);
  return {
    output,
    over,
    interrupt: async () => {
      const isRunning = child.exitCode === null && child.signalCode === null;
      if (isRunning && child.pid !== undefined) process.kill(-child.pid, "SIGINT");
      return await over;
    },
  };
}

function launch(cwd: string, command: string, args: readonly string[], variables: Variables) {
  const child = spawn(command, args, {
    cwd,
    env: {
      ...ownEnvironment(),
      INGRESS_PORT: "21000",
      DASHBOARD_PORT: "21100",
      WORKER_PORT: "21200",
      ...variables,
    },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  return { child, output: outputOf(child) };
}

function ownEnvironment(): NodeJS.ProcessEnv {
  const ours =
    /^(DATABASE_URL|TEST_DATABASE_URL|REDIS_URL|MILLRACE_.*|VITEST.*|NODE_ENV|NODE_OPTIONS)$/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)));
}
