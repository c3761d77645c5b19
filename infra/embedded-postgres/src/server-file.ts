import { randomBytes } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { MillraceError } from "@millrace/core";

/** What is kept beside the data, for the next start. */
export interface ServerFile {
  readonly port: number;
  readonly password: string;
}

/** Reads what an earlier start has kept; undefined before the first. */
export async function readServerFile(dataDir: string): Promise<ServerFile | undefined> {
  const path = join(dataDir, "server.json");
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new MillraceError(
      "postgres_not_started",
      `Cannot read ${JSON.stringify(path)}: ${String(error)}. ` +
        `Start as the user who started it first, or remove the folder ${JSON.stringify(dataDir)}`,
      { cause: error },
    );
  });
  return text === undefined ? undefined : (JSON.parse(text) as ServerFile);
}

/** Writes it whole and durably, for its owner's eyes only. */
export async function writeServerFile(dataDir: string, server: ServerFile): Promise<void> {
  const path = join(dataDir, "server.json");
  const file = await open(`${path}.new`, "w", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(server)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}

/** A password that nobody has to type. */
export function newPassword(): string {
  return randomBytes(24).toString("hex");
}
