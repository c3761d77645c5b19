import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres, type EmbeddedPostgresOptions } from "@millrace/embedded-postgres";
import { afterEach, beforeEach } from "vitest";
import { copyDataFolder } from "../support/data-folder.ts";

/** Gives each test of a file a fresh folder, and ends what the test started there. */
export function onFolder({ hasData }: { hasData: boolean }) {
  const closers: (() => Promise<unknown>)[] = [];
  const it = {
    folder: "",
    dataDir: "",
    start: async (options: Partial<EmbeddedPostgresOptions> = {}) => {
      const postgres = await startEmbeddedPostgres({ dataDir: it.dataDir, ...options });
      it.atEnd(() => postgres.stop("immediate"));
      return postgres;
    },
    listen: async (port: number) => {
      const server = createServer();
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, "127.0.0.1", resolve);
      });
      it.atEnd(() => close(server));
      return server;
    },
    atEnd: (closer: () => Promise<unknown>) => void closers.push(closer),
  };
  beforeEach(async () => {
    it.folder = await mkdtemp(join(tmpdir(), "millrace-embedded-"));
    it.dataDir = join(it.folder, "postgres");
    if (hasData) await copyDataFolder(it.dataDir);
  });
  afterEach(async () => {
    for (const closer of closers.splice(0).toReversed()) await closer();
    await rm(it.folder, { recursive: true, force: true });
  });
  return it;
}

export function close(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}
