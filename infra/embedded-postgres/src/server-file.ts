import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { MillraceError } from "@millrace/core";
import { hasErrno } from "./process-identity.ts";
import { writePrivateFile } from "./replace-file.ts";

/** Kept next to the data, for the next start. */
export interface ServerFile {
  readonly port: number;
  readonly password: string;
}

export async function readServerFile(dataDir: string): Promise<ServerFile | undefined> {
  const path = join(dataDir, "server.json");
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (hasErrno(error, "ENOENT")) return undefined;
    throw new MillraceError(
      "postgres_not_started",
      `Cannot read ${JSON.stringify(path)}: ${String(error)}. ` +
        `Start as the user who started it first, or remove the folder ${JSON.stringify(dataDir)}`,
      { cause: error },
    );
  });
  return text === undefined ? undefined : (JSON.parse(text) as ServerFile);
}

export const writeServerFile = (dataDir: string, server: ServerFile): Promise<void> =>
  writePrivateFile(join(dataDir, "server.json"), `${JSON.stringify(server)}\n`);

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** A free port below those that systems give to outgoing connections, so that it can be kept. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(20_000, 32_000);
    if (await isFree(port)) return port;
  }
  throw new Error("Cannot find a free port: a hundred between 20000 and 32000 are taken");
}
