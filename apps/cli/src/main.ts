import { once } from "node:events";
import { realpathSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { CliContext } from "./context.ts";
import { runCli } from "./program.ts";

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export async function main(): Promise<void> {
  loadEnvFile();
  outliveReaders();
  endWithParent();
  const failed = await runCli(process.argv.slice(2), processContext());
  if (failed === undefined) return;
  // A command that failed half-way may have left connections open, which would keep us here.
  if (process.connected) {
    const { code, message } = failed;
    await new Promise<void>((resolve) =>
      process.send?.({ kind: "failed", code, message }, undefined, undefined, () => resolve()),
    );
  }
  if (process.stderr.writableNeedDrain) await once(process.stderr, "drain");
  process.exit(failed.exitCode);
}

/** Adds the variables of `.env` to process.env, which handlers read too; set variables win. */
function loadEnvFile(): void {
  try {
    process.loadEnvFile(join(process.cwd(), ".env"));
  } catch {
    // There is none.
  }
}

function processContext(): CliContext {
  return {
    env: process.env,
    cwd: process.cwd(),
    bin: realpathSync(fileURLToPath(new URL("../bin/millrace.mjs", import.meta.url))),
    user: userName(),
    stdout: process.stdout,
    stderr: process.stderr,
    readStdin: () => buffer(process.stdin),
    ask: process.stdin.isTTY && process.stderr.isTTY ? ask : undefined,
    onStopSignal(listener) {
      for (const signal of STOP_SIGNALS) process.on(signal, listener);
      return () => {
        for (const signal of STOP_SIGNALS) process.off(signal, listener);
      };
    },
    setExitCode(code) {
      process.exitCode ||= code;
    },
    exit: (code) => process.exit(code),
  };
}

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

// A container may run as a number that has no name.
function userName(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}

// A closed pipe (`millrace events | head`) is no error. `start` and the roles outlive a full disk.
function outliveReaders(): void {
  let told = false;
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") return;
      process.exitCode = 1;
      if (stream === process.stdout && !told)
        process.stderr.write(`Cannot write: ${error.message}\n`);
      told = true;
    });
  }
}

/** Shuts a child of `millrace start` down when its parent dies: the channel to it closes. */
function endWithParent(): void {
  if (!process.connected) return;
  process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
  // Waiting for that must not keep a command alive that has nothing left to do.
  process.channel?.unref();
}
