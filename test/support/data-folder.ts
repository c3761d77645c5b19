import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";
import { inject } from "vitest";
import { freePort } from "./free-port.ts";

const run = promisify(execFile);
let template: Promise<string> | undefined;

/**
 * Makes a data folder for an embedded Postgres as its first start would, for tests of what comes
 * after that: to copy one takes a tenth of what initdb takes. Each has a port of its own.
 */
export async function copyDataFolder(dataDir: string): Promise<void> {
  template ??= makeTemplate();
  // Postgres runs under another user where this is root, and its files are that user's.
  await run("cp", ["-a", await template, dataDir]);
  const file = join(dataDir, "server.json");
  const server = JSON.parse(await readFile(file, "utf8")) as object;
  await writeFile(file, `${JSON.stringify({ ...server, port: await freePort() })}\n`);
}

async function makeTemplate(): Promise<string> {
  const dataDir = join(inject("folder"), `data-${process.pid}`);
  const postgres = await startEmbeddedPostgres({ dataDir });
  await postgres.stop();
  return dataDir;
}
