import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readFile, readlink, realpath, rm } from "node:fs/promises";
import { MillraceError } from "@millrace/core";
import { APP_LOGIN } from "./app-login.ts";
import { ensureDatabase, serverUrl, answeringPid } from "./ask-server.ts";
import {
  endOrphans,
  endProcess,
  launchError,
  launchPostmaster,
  type Launch,
} from "./launch-postmaster.ts";
import { findBinaries } from "./find-binaries.ts";
import {
  findFreePort,
  isFree,
  readServerFile,
  writeServerFile,
  type ServerFile,
} from "./server-file.ts";
import { initialiseData, isInitialised } from "./initialise-data.ts";
import { lockFolder, type FolderLock } from "./lock-folder.ts";
import { identifyProcess, isAlive, type ProcessIdentity } from "./process-identity.ts";
import { serverUser, runTool } from "./server-user.ts";

export interface EmbeddedPostgresOptions {
  /** Where data, password, port and log are kept; made (0700) when it is not there. */
  readonly dataDir: string;
  /** The database in `url`, made when it is not there. Default `millrace`. */
  readonly database?: string;
  /** `max_connections`. Default 300. */
  readonly maxConnections?: number;
  /** Insists on a port; else a free one is chosen once and kept while nobody else takes it. */
  readonly port?: number;
  /** Further settings of the server, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Called with one line for each step that takes long. */
  readonly log?: (line: string) => void;
}

export interface EmbeddedPostgres {
  /** With the password, for role `millrace`, a superuser. */
  readonly url: string;
  /** For the login that owns the database and is no superuser: of processes that run handlers. */
  readonly appUrl: string;
  readonly port: number;
  /** Of the postmaster; changes with `restart`. */
  readonly pid: number;
  /** True when it ran already, left behind by a process that was killed. */
  readonly adopted: boolean;
  /** Ends it within 30 s: fast (default) or immediate, then by force; gives the folder back. */
  stop(mode?: "fast" | "immediate"): Promise<void>;
  /** SIGKILLs the postmaster, for tests of faults. */
  kill(): Promise<void>;
  /** Stops it fast and starts it again on the same port. */
  restart(): Promise<void>;
}

/**
 * Starts the Postgres that npm installed, on the data in `dataDir`: initialises it the first time,
 * adopts one that still runs, recovers one that crashed. It outlives this process unless stopped.
 * @throws `already_running` (the folder), `port_in_use` (`port`), `postgres_not_started`
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  const lock = await lockFolder(dataDir);
  try {
    return await startLocked(dataDir, options, lock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

interface Running {
  readonly server: ServerFile;
  readonly identity: ProcessIdentity;
}

async function startLocked(
  dataDir: string,
  options: EmbeddedPostgresOptions,
  lock: FolderLock,
): Promise<EmbeddedPostgres> {
  const database = options.database ?? "millrace";
  const left = await readServerFile(dataDir);
  const found = left && (await findRunning(join(dataDir, "data"), left));
  let running = found ?? (await launch(dataDir, options));
  await ensureDatabase(running.server, database);
  let stopping: Promise<void> | undefined;
  const stop = async (mode: "fast" | "immediate") => {
    const gently = mode === "fast" ? (["SIGINT"] as const) : [];
    await endProcess(running.identity, [...gently, "SIGQUIT", "SIGKILL"]);
    await lock.release();
  };
  return {
    url: serverUrl(running.server, database),
    appUrl: serverUrl(running.server, database, APP_LOGIN),
    port: running.server.port,
    get pid() {
      return running.identity.pid;
    },
    adopted: found !== undefined,
    stop: (mode = "fast") => (stopping ??= stop(mode)),
    kill: () => endProcess(running.identity, ["SIGKILL"]),
    restart: async () => {
      await endProcess(running.identity, ["SIGINT", "SIGQUIT", "SIGKILL"]);
      running = await launch(dataDir, { ...options, port: running.server.port });
    },
  };
}

async function launch(dataDir: string, options: EmbeddedPostgresOptions): Promise<Running> {
  const say = options.log ?? (() => undefined);
  const pgdata = join(dataDir, "data");
  const user = await serverUser(pgdata);
  const binaries = await findBinaries(dataDir, user);
  const initialised = await isInitialised(pgdata);
  if (initialised && (await readServerFile(dataDir)) === undefined) throw passwordLost(dataDir);
  let server = await chooseServer(dataDir, options.port);
  if (!initialised) {
    say("Initialising Postgres");
    await initialiseData({ binaries, pgdata, user, password: server.password });
  }
  const settings = {
    max_connections: String(options.maxConnections ?? 300),
    ...options.settings,
  };
  for (let attempt = 1; ; attempt += 1) {
    const attempted: Launch = { binaries, dataDir, pgdata, user, server, settings };
    const result = await launchPostmaster(attempted);
    if (result.outcome === "up") return { server, identity: result.identity };
    if (result.outcome === "failed" || attempt === 50) throw launchError(attempted, result.said);
    if (result.outcome === "port_taken") server = await chooseServer(dataDir, options.port);
    else await sleep(200);
    if (result.outcome === "still_held" && attempt === 5) await endOrphans(pgdata);
  }
}

function passwordLost(dataDir: string): MillraceError {
  return new MillraceError(
    "postgres_not_started",
    `Cannot start Postgres in ${JSON.stringify(dataDir)}: server.json, with its password, is ` +
      `gone. Put it back, or remove the folder and lose its data`,
  );
}

/** The port and password of the last start; a new port when a stranger listens on that one. */
async function chooseServer(dataDir: string, wanted: number | undefined): Promise<ServerFile> {
  const kept = await readServerFile(dataDir);
  const port = wanted ?? kept?.port;
  const free = port !== undefined && (await isFree(port));
  if (wanted !== undefined && !free) {
    throw new MillraceError(
      "port_in_use",
      `Cannot start Postgres on port ${wanted}: another process listens there`,
    );
  }
  if (kept !== undefined && kept.port === port && free) return kept;
  const server = {
    port: free ? port : await findFreePort(),
    password: kept?.password ?? randomBytes(24).toString("hex"),
  };
  await writeServerFile(dataDir, server);
  return server;
}

const PATIENCE_MS = 60_000;

/** Waits for a postmaster that goes down; ends one that neither answers nor ends in a minute. */
async function findRunning(pgdata: string, kept: ServerFile): Promise<Running | undefined> {
  const path = join(pgdata, "postmaster.pid");
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const lines = (await readFile(path, "utf8").catch(() => "")).split("\n");
    const pid = Number(lines[0]);
    const identity = await identifyProcess(pid);
    if (identity === undefined || !(await servesData(pid, pgdata))) {
      await rm(path, { force: true });
      return undefined;
    }
    const server = { ...kept, port: Number(lines[3]) };
    if (server.port > 0 && (await answeringPid(server)) === pid) return { server, identity };
    if (Date.now() > deadline) await endProcess(identity, ["SIGQUIT", "SIGKILL"]);
    if (await isAlive(identity)) await sleep(100);
  }
}

async function servesData(pid: number, pgdata: string): Promise<boolean> {
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  if (cwd !== undefined) return cwd === (await realpath(pgdata));
  if (process.platform === "linux") return false;
  const listed = await runTool("/bin/ps", ["-o", "command=", "-p", String(pid)], {
    cwd: "/",
    user: undefined,
  });
  return listed.output.includes(pgdata);
}
