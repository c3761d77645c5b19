import { relative, basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import { hasTenants, isMillraceError, MillraceError, wait, withUrl } from "@millrace/core";
import { lockFolder } from "@millrace/embedded-postgres";
import { checkRedis } from "@millrace/queue";
import { reasonOf, refuseExampleSecrets, resolveSecrets } from "@millrace/service";
import type { Command } from "commander";
import { watch, type FSWatcher } from "chokidar";
import { type CliContext, loadProject, type Project } from "../context.ts";
import { secretVariables, ensureQueueKey, type Run } from "../data-folder.ts";
import { wholeNumber } from "../parse-option.ts";
import { createRunKeeper, currentRun, readStates, startSummary } from "../start/current-run.ts";
import { writeLine } from "../start/log-lines.ts";
import { checkConnections, type Database, openDatabase } from "../start/open-database.ts";
import { roleLaunches } from "../start/role-launches.ts";
import { createSupervisor } from "../start/supervisor.ts";
import { onStopRequest } from "../stop-request.ts";
import { createPrinter, type Printer } from "../terminal-text.ts";
import { migrateAll, migratedText } from "./migrate.ts";

const HELP = `
If DATABASE_URL is not set, it runs an embedded Postgres with its data in .millrace. If REDIS_URL is
not set, the queue is on Postgres too. A source without a secret gets one, kept in
.millrace/secrets.json. If a port is taken, it uses the next free one.

Ctrl-C shuts down gracefully; a second Ctrl-C exits at once.

Examples:
  $ millrace start
  $ millrace start --watch                      # handlers are loaded anew when you save them
  $ REDIS_URL=redis://127.0.0.1:6379 millrace start --workers 4`;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("start")
    .description("run everything on this machine")
    .option("--workers <n>", "number of worker processes", wholeNumber({ min: 1, max: 64 }), 2)
    .option("--watch", "restart workers when a file of the project changes")
    .option("--json", "print where it runs as a line of JSON, and the logs to standard error")
    .addHelpText("after", HELP)
    .action((options: StartFlags) => runStart(context, options));
}

interface StartFlags {
  readonly workers: number;
  readonly watch?: boolean;
  readonly json?: true;
}

interface Start extends StartFlags {
  readonly context: CliContext;
  readonly closers: (() => Promise<void>)[];
  /** Called instead after a second Ctrl-C. */
  readonly emergencies: (() => unknown)[];
  say(level: "info" | "warn", message: string): void;
  readonly print: Printer;
}

/** Past the roles' own time to stop, before they are killed. */
const GRACE_MS = 5_000;

async function runStart(own: CliContext, flags: StartFlags): Promise<void> {
  const context = flags.json === true ? { ...own, stdout: own.stderr } : own;
  const start: Start = {
    ...flags,
    context,
    closers: [],
    emergencies: [],
    say: (level, msg) => {
      const line = JSON.stringify({ level, time: new Date().toISOString(), msg });
      writeLine(context.stdout, "start", line);
    },
    print: createPrinter(own, flags.json),
  };
  const stop = onStopRequest(context, () => {
    const acts = start.emergencies.map(async (act) => act());
    void Promise.allSettled(acts).then(() => context.exit(130));
  });
  try {
    await runUntil(stop, start);
  } finally {
    await closeAll(start.closers);
    stop.dispose();
  }
}

async function runUntil(stop: ReturnType<typeof onStopRequest>, start: Start): Promise<void> {
  const { closers, emergencies, say } = start;
  const project = await loadProject(start.context);
  const { env } = start.context;
  const secrets = resolveSecrets(project.config, env);
  refuseExampleSecrets({ env, host: hostOf(project), secrets });
  const { REDIS_URL: redisUrl, MILLRACE_REDIS_VOLATILE: volatile } = project.environment;
  // Checked once here: a role by itself waits for a Redis that is away.
  if (redisUrl !== undefined) await checkRedis(redisUrl, { allowVolatile: volatile === "1" });
  const lock = await lockDataDir(project.dataDir);
  closers.push(() => lock.release());
  const database = await openDatabase(project, say);
  closers.push(() => database.stop());
  emergencies.push(() => database.stopAtOnce());
  if (stop.signal.aborted) return;

  const stores = { DATABASE_URL: database.url, REDIS_URL: redisUrl };
  await migrateAll({ ...project, stores }, (...part) => say("info", migratedText(...part)));
  await checkConnections(project.config, stores, start.workers);
  if (stop.signal.aborted) return;

  const { supervisor, run, greet } = await startRoles(start, project, database);
  const refused = supervisor.givenUp().then((error) => Promise.reject(error));
  const end = Promise.race([refused, stop.requested]);
  const ready = supervisor.listening().then(() => awaitReady(run, stop.signal));
  await Promise.race([ready, end]);
  if (!stop.signal.aborted) greet();
  await end;
  say("info", "Stopping");
}

const READY_WITHIN_MS = 10_000;
const READY_POLL_MS = 50;

/** Waits until all roles are ready, and have logged that; not long for a server that is away. */
async function awaitReady(run: () => Run, stopped: AbortSignal): Promise<void> {
  const deadlineMs = performance.now() + READY_WITHIN_MS;
  while (!stopped.aborted && performance.now() < deadlineMs) {
    const states = await readStates(run());
    if (states.every(({ state }) => state === "ready")) break;
    await wait(READY_POLL_MS, stopped);
  }
  // Lines that they wrote before they answered are in their pipes, and are read in this turn.
  await setImmediate();
}

const hostOf = ({ environment }: Project): string => environment.HOST ?? "127.0.0.1";

async function startRoles(start: Start, project: Project, database: Database) {
  const { context, closers, emergencies, say } = start;
  const { environment, dataDir, config, path } = project;
  const host = hostOf(project);
  const redisUrl = environment.REDIS_URL;
  const queueKey = redisUrl === undefined ? undefined : await ensureQueueKey(project);
  const launches = roleLaunches(context, {
    environment,
    host,
    workers: start.workers,
    shared: {
      MILLRACE_CONFIG: path,
      MILLRACE_DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      HOST: host,
      ...(queueKey === undefined ? {} : { MILLRACE_QUEUE_KEY: queueKey }),
    },
    ingress: await secretVariables(config, { env: context.env, dataDir }),
    sources: Object.keys(config.sources),
  });

  const ofRun = { pid: process.pid, started_at: new Date().toISOString(), config: path };
  const ofStores = { database_url: database.url, redis_url: redisUrl };
  const run = () => currentRun(supervisor.processes(), host, { ...ofRun, ...ofStores });
  const keeper = createRunKeeper(dataDir, run);
  let isUp = false;
  const supervisor = createSupervisor({
    isWatching: start.watch === true,
    onListening: () => {
      if (isUp) keeper.update();
    },
    onRestart: (name, reason, waitMs) => {
      const when = waitMs === undefined ? "at the next change" : `in ${waitMs / 1_000} s`;
      say("warn", `${name} restarts ${when}: ${reason}`);
    },
  });
  const shutdownMs = [config.ingress, config.worker].map((role) => role.shutdownTimeoutMs);
  const deadlineMs = Math.max(...shutdownMs) + GRACE_MS;
  closers.push(
    () => supervisor.stop(deadlineMs),
    () => keeper.remove(),
  );
  emergencies.unshift(() => supervisor.kill());
  for (const { name, launch } of launches) supervisor.add(name, launch);
  if (start.watch === true) {
    const onChange = (changed: ReadonlySet<string>) => {
      const isConfig = changed.has(path);
      const files = [...changed].join(", ");
      say("info", `${isConfig ? "All roles restart" : "Workers restart"}: ${files} changed`);
      supervisor.restart((name) => isConfig || name.startsWith("worker-"));
    };
    const onError = (error: unknown) => say("warn", `Cannot watch all files: ${reasonOf(error)}`);
    const watched = watchProject(project.directory, dataDir, { onChange, onError });
    closers.push(() => watched.close());
  }

  const greet = (): void => {
    isUp = true;
    keeper.update();
    const receiving = Object.entries(withUrl(config.sources));
    const [sample = []] = receiving.map(([name, source]) => {
      const tenant = hasTenants(source) ? "--tenant <tenant>" : undefined;
      return [name, source.provider.sampleTypes[0], tenant];
    });
    const fromHere = relative(context.cwd, dataDir);
    start.print(
      startSummary(run(), {
        sources: receiving.map(([name, of]) => (hasTenants(of) ? `${name}/<tenant>` : name)),
        sample: sample.filter(Boolean).join(" "),
        isEmbedded: database.isEmbedded,
        dashboardUser: environment.DASHBOARD_USER,
        dataDir: fromHere.startsWith("..") ? dataDir : fromHere,
      }),
    );
  };
  return { supervisor, run, greet };
}

async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.toReversed()) {
    await close().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

async function lockDataDir(dataDir: string) {
  try {
    return await lockFolder(dataDir);
  } catch (error) {
    if (isMillraceError(error)) throw error;
    throw new MillraceError(
      "invalid_config",
      `Cannot keep data in "${dataDir}": ${reasonOf(error)}. Choose another folder with MILLRACE_DATA_DIR`,
      { cause: error },
    );
  }
}

/** A save can be several writes, and can change several files. */
const SETTLED_MS = 50;
const CODE = /\.([cm]?[jt]sx?|json)$/;

function watchProject(
  folder: string,
  dataDir: string,
  {
    onChange,
    onError,
  }: { onChange: (paths: ReadonlySet<string>) => void; onError: (error: unknown) => void },
): FSWatcher {
  let settling: NodeJS.Timeout | undefined;
  let changed = new Set<string>();
  const isIgnored = (path: string, stats?: { isFile(): boolean }): boolean => {
    if (path === folder) return false;
    const name = basename(path);
    if (name === "node_modules" || name.startsWith(".") || path === dataDir) return true;
    return stats?.isFile() === true && !CODE.test(name);
  };
  const watcher = watch(folder, { ignored: isIgnored, ignoreInitial: true }).on("error", onError);
  return watcher.on("all", (_, path) => {
    clearTimeout(settling);
    changed.add(path);
    settling = setTimeout(() => {
      onChange(changed);
      changed = new Set();
    }, SETTLED_MS);
  });
}
