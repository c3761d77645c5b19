import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { BIN, runCommand } from "../../support/millrace-process.ts";
import { environmentOf } from "../../support/server-urls.ts";
import { QUEUE_KEY, SECRET_VARIABLES } from "../load/post.ts";
import { createReaper, createRole, type Role, type RoleKind, type RoleOptions } from "./role.ts";
import { type Servers, type ServersOptions, startServers } from "./servers.ts";

const CONFIG = fileURLToPath(new URL("../../fixtures/faults/millrace.config.ts", import.meta.url));

export interface Build {
  readonly bin: string;
  readonly config: string;
}

const THIS_BUILD: Build = { bin: BIN, config: CONFIG };

interface RoleExtras extends Pick<RoleOptions, "openFilesMax" | "outputTo"> {
  readonly env?: Readonly<Record<string, string>>;
  readonly build?: Build;
}

export type BackendName = ServersOptions["backend"];
export type AckName = "queue" | "ledger";

export interface EnvironmentOptions extends Omit<ServersOptions, "folder" | "reaper"> {
  readonly ack: AckName;
  readonly groups?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly ingresses?: number;
  readonly workers?: number;
  readonly say?: (line: string) => void;
}

export type FaultEnvironment = Awaited<ReturnType<typeof openEnvironment>>;

export async function openEnvironment(options: EnvironmentOptions) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-faults-"));
  const reaper = createReaper();
  const servers = await startServers({ ...options, folder, reaper });
  const urls = {
    databaseUrl: servers.toPostgres.account.url,
    redisUrl: servers.redis?.to.account.url,
  };
  const variables = createVariables(options, servers, folder);
  const database = new pg.Pool({
    connectionString: urls.databaseUrl,
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

  const addRole = (
    kind: RoleKind,
    { env, build = THIS_BUILD, ...extras }: RoleExtras = {},
  ): Role => {
    const name = `${kind}-${roles.filter((role) => role.kind === kind).length + 1}`;
    const role = createRole({
      ...{ name, kind, bin: build.bin, logFile: join(folder, `${name}.log`), ...extras },
      env: { ...variables.of(kind), MILLRACE_CONFIG: build.config, ...env },
      onSpawn: reaper.watch,
    });
    roles.push(role);
    return role;
  };
  const command = (
    args: readonly string[],
    { bin, config } = THIS_BUILD,
    databaseUrl = urls.databaseUrl,
  ) => {
    const own = { ...environmentOf({ ...urls, databaseUrl }), MILLRACE_CONFIG: config };
    return runCommand(args, { ...variables.of("worker"), ...own }, { bin });
  };
  const end = async ({ keep = false } = {}) => {
    await Promise.all(roles.map((role) => role.end("SIGKILL")));
    await database.end();
    await servers.release();
    await rm(keep ? servers.postgres.dataDir : folder, { recursive: true, force: true });
  };

  try {
    // Whatever a fault leaves of connections, these four are there.
    await Promise.all([1, 2, 3, 4].map(() => database.query("select pg_sleep(0.1)")));
    const migrated = await command(["migrate"]);
    if (migrated.code !== 0) throw new Error(`Cannot migrate: ${migrated.output}`);
    for (let n = 0; n < (options.ingresses ?? 2); n += 1) addRole("ingress");
    for (let n = 0; n < (options.workers ?? 2); n += 1) addRole("worker");
    await Promise.all(roles.map((role) => role.start()));
  } catch (error) {
    await end();
    throw error;
  }

  return {
    backend: options.backend,
    ack: options.ack,
    groups: options.groups ?? true,
    setUp: options.setUp ?? ("direct" as const),
    folder,
    servers,
    urls,
    database,
    count: async (from: string, values: readonly unknown[] = []): Promise<number> => {
      const { rows } = await database.query(`select count(*)::int from ${from}`, [...values]);
      return rows[0].count;
    },
    struck: struck as ReadonlyMap<string, number>,
    roles: roles as readonly Role[],
    excused: new Set<string>(),
    emptied: new Set<string>(),
    undone: new Set<string>(),
    strangers: new Set<string>(),
    replays: new Map<string, number>(),
    get ingresses(): readonly Role[] {
      return roles.filter(({ kind }) => kind === "ingress");
    },
    get workers(): readonly Role[] {
      return roles.filter(({ kind }) => kind === "worker");
    },
    strike: (fault: string, what: string) => {
      struck.set(fault, (struck.get(fault) ?? 0) + 1);
      say(`${fault} ${what}`);
    },
    say,
    addRole,
    command,
    /** Of another environment, which has a database of its own and the same Redis. */
    neighbor: (databaseUrl: string, ...args: readonly string[]) =>
      command(args, THIS_BUILD, databaseUrl),
    startAgain: (kind: RoleKind) => startAgain(roles.filter((role) => role.kind === kind)),
    keepUp: () => keepUp(roles),
    heal: async () => {
      heal(servers);
      await startAgain(roles);
    },
    end,
  };
}

function keepUp(roles: readonly Role[]) {
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

function heal({ toPostgres, redis }: Servers): void {
  for (const proxies of [toPostgres, redis?.to]) {
    if (proxies === undefined) continue;
    for (const proxy of [proxies.ingress, proxies.worker]) {
      proxy.delay(0);
      proxy.admit();
      proxy.thaw();
    }
  }
  redis?.server.thaw();
}

function createVariables(
  { ack, groups = true, env }: EnvironmentOptions,
  { toPostgres, redis, pooler, sentinels }: Servers,
  folder: string,
): { of(kind: RoleKind): Record<string, string | undefined> } {
  return {
    of: (kind) => {
      const proxy = kind === "ingress" ? "ingress" : "worker";
      const redisUrl = sentinels?.url ?? redis?.to[proxy].url;
      return {
        FAULTS_ACK: ack,
        ...(redis === undefined ? {} : { MILLRACE_QUEUE_KEY: QUEUE_KEY }),
        ...(sentinels === undefined ? {} : { FAULTS_REPLICAS: "1" }),
        FAULTS_DIR: folder,
        MILLRACE_GROUPS: groups ? "on" : "off",
        HOST: "127.0.0.1",
        INGRESS_PORT: "0",
        WORKER_PORT: "0",
        DASHBOARD_PORT: "0",
        ...environmentOf({ databaseUrl: toPostgres[proxy].url, redisUrl }),
        ...(pooler === undefined ? {} : { DATABASE_SESSION_URL: toPostgres.account.url }),
        ...(kind === "ingress" ? SECRET_VARIABLES : {}),
        ...env,
      };
    },
  };
}
