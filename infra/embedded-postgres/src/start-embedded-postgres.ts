import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chown, mkdir, open, readFile, readlink, realpath, rename, rm } from "node:fs/promises";
import { MillraceError } from "@millrace/core";
import { answeringPid, APP_LOGIN, ensureDatabase, ROLE, serverUrl } from "./ask-server.ts";
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
import { lockFolder, type FolderLock } from "./lock-folder.ts";
import { identifyProcess, isAlive, type ProcessIdentity } from "./process-identity.ts";
import { dataArgument, runTool, serverUser, type ServerUser } from "./server-user.ts";

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
  readonly settings?: Launch["settings"];
  /** Called with one line for each step that takes long. */
  readonly log?: (line: string) => void;
}

export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

/**
 * Starts the Postgres that npm installed, on the data in `dataDir`: initialises it the first time,
 * adopts one that still runs, recovers one that crashed. It outlives this process unless stopped.
 * @throws `already_running` (the folder), `port_in_use` (`port`), `postgres_not_started`
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions) {
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

async function startLocked(dataDir: string, options: EmbeddedPostgresOptions, lock: FolderLock) {
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
    /** With the password, for role `millrace`, a superuser. */
    url: serverUrl(running.server, database),
    /** For the login of processes that run handlers. */
    appUrl: serverUrl(running.server, database, APP_LOGIN),
    port: running.server.port,
    /** Of the postmaster; changes with `restart`. */
    get pid(): number {
      return running.identity.pid;
    },
    /** True when it ran already, left behind by a process that was killed. */
    adopted: found !== undefined,
    /** Ends it within 30 s: fast or immediate, then by force; gives the folder back. */
    stop: (mode: "fast" | "immediate" = "fast"): Promise<void> => (stopping ??= stop(mode)),
    /** SIGKILLs the postmaster, for tests of faults. */
    kill: (): Promise<void> => endProcess(running.identity, ["SIGKILL"]),
    /** Stops it fast and starts it again on the same port. */
    restart: async (): Promise<void> => {
      await endProcess(running.identity, ["SIGINT", "SIGQUIT", "SIGKILL"]);
      running = await launch(dataDir, { ...options, port: running.server.port });
    },
  };
}

async function launch(dataDir: string, options: EmbeddedPostgresOptions): Promise<Running> {
  const pgdata = join(dataDir, "data");
  const user = await serverUser(pgdata);
  const bin = await findBinaries(dataDir, user);
  const isInitialised = existsSync(join(pgdata, "PG_VERSION"));
  if (isInitialised && (await readServerFile(dataDir)) === undefined) {
    throw new MillraceError(
      "postgres_not_started",
      `Cannot start Postgres in ${JSON.stringify(dataDir)}: server.json, with its password, is ` +
        `gone. Put it back, or remove the folder and lose its data`,
    );
  }
  let server = await chooseServer(dataDir, options.port);
  if (!isInitialised) {
    options.log?.("Initialising Postgres");
    await initialiseData({ bin, pgdata, user }, server.password);
  }
  const settings = {
    max_connections: String(options.maxConnections ?? 300),
    ...options.settings,
  };
  for (let attempt = 1; ; attempt += 1) {
    const attempted: Launch = { bin, dataDir, pgdata, user, server, settings };
    const result = await launchPostmaster(attempted);
    if (result.outcome === "up") return { server, identity: result.identity };
    if (result.outcome === "failed" || attempt === 50) throw launchError(attempted, result.said);
    if (result.outcome === "port_taken") server = await chooseServer(dataDir, options.port);
    else await sleep(200);
    if (result.outcome === "still_held" && attempt === 5) await endOrphans(pgdata);
  }
}

const LOCALE = [
  "--encoding=UTF8",
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  "--locale=C",
];

/** Data gets its name when it is whole. @throws `postgres_not_started` with initdb's output */
async function initialiseData(
  { bin, pgdata, user }: Pick<Launch, "bin" | "pgdata" | "user">,
  password: string,
): Promise<void> {
  const unfinished = `${pgdata}.new`;
  const passwordFile = `${pgdata}.password`;
  await rm(unfinished, { recursive: true, force: true });
  await rm(passwordFile, { force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await own(unfinished, user);
  const file = await open(passwordFile, "wx+", 0o600);
  try {
    await own(passwordFile, user);
    await file.write(`${password}\n`, 0);
    const args = [
      ...["-D", dataArgument(unfinished, user), `--username=${ROLE}`, ...LOCALE],
      ...["--auth=scram-sha-256", "--pwfile=/dev/stdin"],
    ];
    const result = await runTool(join(bin, "initdb"), args, {
      cwd: unfinished,
      user,
      stdin: file.fd,
    });
    if (result.code !== 0) {
      throw new MillraceError(
        "postgres_not_started",
        `Cannot initialise Postgres in ${JSON.stringify(pgdata)}: initdb ended with ` +
          `${result.code}. ${result.output.trim()}`,
      );
    }
    await rename(unfinished, pgdata);
  } finally {
    await file.close();
    await rm(passwordFile, { force: true });
  }
}

async function own(path: string, user: ServerUser | undefined): Promise<void> {
  if (user !== undefined) await chown(path, user.uid, user.gid);
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
  const at = { cwd: "/", user: undefined };
  const listed = await runTool("/bin/ps", ["-o", "command=", "-p", String(pid)], at);
  return listed.output.includes(pgdata);
}
