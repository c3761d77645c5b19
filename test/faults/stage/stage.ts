import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import pg from "pg";
import { BIN, runCommand } from "../../support/millrace-process.ts";
import { SECRET_VARIABLES } from "../load/secrets.ts";
import { startGround, type Ground, type GroundOptions } from "./ground.ts";
import { createReaper } from "./reaper.ts";
import { createRole, type Role, type RoleKind, type RoleOptions } from "./role.ts";
import { fileURLToPath } from "node:url";

const CONFIG = fileURLToPath(new URL("../../fixtures/faults/millrace.config.ts", import.meta.url));

/** A build in a folder of its own. */
export interface Build {
  /** Its command. */
  readonly bin: string;
  /** The faults' config, as this build loads it. */
  readonly config: string;
}

/** This repository's. */
export const THIS_BUILD: Build = { bin: BIN, config: CONFIG };

/** What sets a role apart from the others of its kind. */
export interface RoleExtras extends Pick<RoleOptions, "bin" | "openFilesMax" | "outputTo"> {
  readonly env?: Readonly<Record<string, string>>;
}

export type BackendName = GroundOptions["backend"];
export type AckName = "queue" | "ledger";

type ServerOptions = "redisArgs" | "postgresSettings" | "postgresFolder";

export interface StageOptions extends Pick<GroundOptions, ServerOptions> {
  readonly backend: BackendName;
  readonly ack: AckName;
  /** Further variables of every role. */
  readonly env?: Readonly<Record<string, string>>;
  readonly ingresses?: number;
  readonly workers?: number;
  /** The build that migrates and that the first roles run. Default: this one. */
  readonly build?: Build;
  /** Hears what happens, one line at a time. */
  readonly say?: (line: string) => void;
}

/** All that a run of faults happens on: servers, proxies and roles, in real processes. */
export interface Stage {
  readonly backend: BackendName;
  readonly ack: AckName;
  /** Where logs, starts and the senders' log are. */
  readonly folder: string;
  readonly ground: Ground;
  /** Goes to Postgres past the proxies. */
  readonly database: pg.Pool;
  readonly ingresses: readonly Role[];
  readonly workers: readonly Role[];
  readonly roles: readonly Role[];
  /** How often each fault has really struck. */
  readonly struck: ReadonlyMap<string, number>;
  /** Events that a fault has destroyed where they were kept alone, by key: they may be lost. */
  readonly excused: Set<string>;
  /** Jobs that were put into the queue by hand: `queue name/job id`. */
  readonly strangers: Set<string>;
  /** How many replays of an event somebody asked for, by key. */
  readonly replays: Map<string, number>;
  /** Counts a strike of a fault, and says what it did. */
  strike(fault: string, what: string): void;
  say(line: string): void;
  /** A further role; it is ended with the stage. */
  addRole(kind: RoleKind, options?: RoleExtras): Role;
  /** Starts again what died of a kind. */
  startAgain(kind: RoleKind): Promise<void>;
  /** Starts again whatever dies, until it is told to stop. */
  keepUp(): { stop(): Promise<void> };
  /** Undoes every fault, and starts again what died. */
  heal(): Promise<void>;
  /** Ends all of it, and removes the folder unless somebody is to look into it. */
  end(options?: { keep?: boolean }): Promise<void>;
}

export async function openStage(options: StageOptions): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-faults-"));
  const reaper = createReaper();
  const ground = await startGround({ ...options, folder, reaper });
  const env = environment(options, ground, folder);
  const database = new pg.Pool({
    connectionString: ground.postgres.url,
    max: 4,
    idleTimeoutMillis: 0,
    // Whatever a fault has made the default.
    options: "-c default_transaction_read_only=off",
  });
  database.on("error", () => {});
  database.on("connect", (client) => client.on("error", () => {}));
  const roles: Role[] = [];
  const struck = new Map<string, number>();
  const say = options.say ?? (() => {});

  const addRole = (kind: RoleKind, { env: more, ...extras }: RoleExtras = {}) => {
    const name = `${kind}-${roles.filter((role) => role.kind === kind).length + 1}`;
    const roleEnv = { ...env.of(kind), ...more };
    const logFile = join(folder, `${name}.log`);
    const role = createRole({
      ...{ name, kind, logFile, ...extras },
      env: roleEnv,
      onSpawn: reaper.watch,
    });
    roles.push(role);
    return role;
  };
  const end = async ({ keep = false } = {}) => {
    await Promise.all(roles.map((role) => role.end("SIGKILL")));
    await database.end();
    await ground.release();
    await rm(keep ? join(folder, "postgres") : folder, { recursive: true, force: true });
  };

  try {
    // Whatever a fault leaves of connections, these four are there.
    await Promise.all([1, 2, 3, 4].map(() => database.query("select pg_sleep(0.1)")));
    const { bin, config } = options.build ?? THIS_BUILD;
    const first = { bin, env: { MILLRACE_CONFIG: config } };
    const migrated = await runCommand(["migrate"], { ...env.of("worker"), ...first.env }, { bin });
    if (migrated.code !== 0) throw new Error(`Cannot migrate: ${migrated.output}`);
    for (let n = 0; n < (options.ingresses ?? 2); n += 1) addRole("ingress", first);
    for (let n = 0; n < (options.workers ?? 2); n += 1) addRole("worker", first);
    await Promise.all(roles.map((role) => role.start()));
  } catch (error) {
    await end();
    throw error;
  }

  return {
    backend: options.backend,
    ack: options.ack,
    folder,
    ground,
    database,
    struck,
    roles,
    excused: new Set(),
    strangers: new Set(),
    replays: new Map(),
    get ingresses() {
      return roles.filter(({ kind }) => kind === "ingress");
    },
    get workers() {
      return roles.filter(({ kind }) => kind === "worker");
    },
    strike: (fault, what) => {
      struck.set(fault, (struck.get(fault) ?? 0) + 1);
      say(`${fault} ${what}`);
    },
    say,
    addRole,
    startAgain: (kind) => startAgain(roles.filter((role) => role.kind === kind)),
    keepUp: () => keepUp(roles),
    heal: async () => {
      heal(ground);
      await startAgain(roles);
    },
    end,
  };
}

function keepUp(roles: readonly Role[]): { stop(): Promise<void> } {
  let stopped = false;
  const watch = async () => {
    while (!stopped) {
      // One that is ended while it starts is started again.
      await startAgain(roles).catch(() => {});
      await sleep(50);
    }
  };
  const watching = watch();
  return {
    stop: async () => {
      stopped = true;
      await watching;
    },
  };
}

async function startAgain(roles: readonly Role[]): Promise<void> {
  const dead = roles.filter(({ up, retired }) => !up && !retired);
  const starts = await Promise.allSettled(dead.map((role) => role.start()));
  const failed = starts.find((start) => start.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

function heal({ toPostgres, redis }: Ground): void {
  for (const ways of [toPostgres, redis?.to]) {
    if (ways === undefined) continue;
    for (const way of [ways.ingress, ways.worker]) {
      way.delay(0);
      way.admit();
      way.thaw();
    }
  }
  redis?.server.thaw();
}

function environment(
  { ack, env }: StageOptions,
  { toPostgres, redis }: Ground,
  folder: string,
): { of(kind: RoleKind): Record<string, string> } {
  return {
    of: (kind) => {
      const way = kind === "ingress" ? "ingress" : "worker";
      return {
        MILLRACE_CONFIG: CONFIG,
        FAULTS_ACK: ack,
        FAULTS_DIR: folder,
        HOST: "127.0.0.1",
        INGRESS_PORT: "0",
        WORKER_PORT: "0",
        DASHBOARD_PORT: "0",
        DATABASE_URL: toPostgres[way].url,
        ...(redis === undefined ? {} : { REDIS_URL: redis.to[way].url }),
        ...(kind === "ingress" ? SECRET_VARIABLES : {}),
        ...env,
      };
    },
  };
}
