import {
  COMMAND_PARAMETER,
  MillraceError,
  postgresProblem,
  readUrl,
  withParameter,
  commandWords,
} from "@millrace/core";
import { readFileSync } from "node:fs";
import pg from "pg";
import { parse, toClientConfig } from "pg-connection-string";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { connectOnceMore, SessionSettings } from "./pinned-settings.ts";
import { sqlStateOf } from "./sqlstate.ts";
import { closeReadOnly } from "./connection.ts";
import { learnForgotten } from "./statement.ts";

/** Parts of a URL that a pool takes. Times of statements, and its name, are the pool's own. */
const TAKEN = /^(user|password|host|port|database|ssl|sslnegotiation|options)$/;

/**
 * Makes a pool for a URL, which is read as pg reads it; `sslrootcert=system` stands for Node's CAs.
 * @throws `invalid_config` with the parameter that is wrong
 */
export function openPool(url: string, settings: pg.PoolConfig): pg.Pool {
  const problem = postgresProblem(url);
  if (problem !== undefined) throw unusable(problem);
  const { [COMMAND_PARAMETER]: command, ...parsed } = parseUrl(url);
  const given = Object.entries({ ...toClientConfig(parsed) });
  const taken: pg.PoolConfig = Object.fromEntries(given.filter(([name]) => TAKEN.test(name)));
  const options = [taken.options, settings.options].filter(Boolean).join(" ");
  const config = { ...taken, ...settings, ...(options !== "" && { options }) };
  if (typeof command !== "string" || taken.password) return new pg.Pool(config);
  const printed = PasswordCommand.of(command);
  const pool = new pg.Pool({ ...config, password: () => printed.read() });
  printed.watch(pool);
  return pool;
}

const SYSTEM_CAS = /([?&])sslrootcert=system(?=&|$)/;

function parseUrl(url: string): ReturnType<typeof parse> {
  // As in libpq, which checks the name too then. The driver would open a file of that name.
  const text = SYSTEM_CAS.test(url)
    ? withParameter(url.replace(SYSTEM_CAS, "$1"), "sslmode", "verify-full")
    : url;
  for (const name of ["sslrootcert", "sslcert", "sslkey"]) readParameter(text, name);
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof URIError) throw unusable("must have % in its password as %25");
    throw unusable(`is refused by the driver: ${(error as Error).message}`);
  }
}

/** The driver would not say which file it cannot read. */
function readParameter(url: string, name: string): void {
  const file = readUrl(url)?.searchParams.get(name) ?? "";
  try {
    if (file !== "") readFileSync(file);
  } catch (error) {
    throw unusable(`names a file in ${name} that cannot be read: ${(error as Error).message}`);
  }
}

function unusable(problem: string): MillraceError {
  return new MillraceError("invalid_config", `Cannot use the URL of Postgres: it ${problem}`);
}

const run = promisify(execFile);
const TIMEOUT_MS = 5_000;
/** Shorter than any token lives: those of RDS and of Microsoft Entra, 15 minutes and an hour. */
const KEPT_MS = 5 * 60_000;
/** 28P01 of Postgres, and 28000 of those that ask another service. */
const REFUSED = /^28(P01|000)$/;

/** The password of Postgres that a program prints, one for all pools of a process. @internal */
export class PasswordCommand {
  static readonly #commands = new Map<string, PasswordCommand>();
  readonly #argv: readonly string[];
  #read: { readonly atMs: number; readonly password: Promise<string> } | undefined;

  private constructor(text: string) {
    this.#argv = commandWords(text) ?? [];
  }

  static of(text: string): PasswordCommand {
    const command = this.#commands.get(text) ?? new PasswordCommand(text);
    this.#commands.set(text, command);
    return command;
  }

  /** @throws `database_unavailable` when the program fails, prints nothing, or is too slow */
  async read(): Promise<string> {
    const nowMs = performance.now();
    if (this.#read === undefined || nowMs - this.#read.atMs > KEPT_MS) {
      this.#read = { atMs: nowMs, password: this.#run() };
    }
    const { password } = this.#read;
    try {
      return await password;
    } catch (error) {
      if (this.#read?.password === password) this.#read = undefined;
      throw error;
    }
  }

  /** Lets a pool connect once more, with a new password, when Postgres has refused one. */
  watch(pool: { connect: unknown }): void {
    connectOnceMore(pool, (error, sinceMs) => {
      if (!REFUSED.test(sqlStateOf(error) ?? "")) return false;
      if (this.#read !== undefined && this.#read.atMs <= sinceMs) this.#read = undefined;
      return true;
    });
  }

  async #run(): Promise<string> {
    const [program = "", ...words] = this.#argv;
    try {
      const options = { timeout: TIMEOUT_MS, killSignal: "SIGKILL" } as const;
      const password = (await run(program, words, options)).stdout.trim();
      if (password === "") throw new Error("it printed nothing");
      return password;
    } catch (error) {
      throw new MillraceError(
        "database_unavailable",
        `Cannot use Postgres: DATABASE_PASSWORD_COMMAND failed: ${reasonOf(error)}`,
        { cause: error },
      );
    }
  }
}

function reasonOf(error: unknown): string {
  const { killed, message, stderr } = error as Error & { killed?: boolean; stderr?: string };
  if (killed === true) return `no answer in ${TIMEOUT_MS / 1_000} s`;
  return stderr?.trim().split("\n").at(-1) || message;
}

interface PoolOptions {
  readonly url: string;
  /** Maximum number of connections. A worker needs its concurrency plus two. */
  readonly max: number;
  readonly applicationName: string;
  readonly connectionTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  readonly onError?: (error: Error) => void;
}

/**
 * Makes a pool, which the caller ends. It has no client-side `query_timeout`, which would hand a
 * transaction in an unknown state to the next caller.
 * @throws `invalid_config`
 */
export function createPool(options: PoolOptions): pg.Pool {
  const settings = new SessionSettings();
  const pool = openPool(options.url, {
    Client: settings.clientClass(),
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectionTimeoutMs ?? 5_000,
    idleTimeoutMillis: options.idleTimeoutMs ?? 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
  });
  // A client in use reports its own errors; an error event without a listener ends the process.
  const reported = new WeakSet<Error>();
  const report = (error: Error) => {
    if (reported.has(error)) return;
    reported.add(error);
    options.onError?.(error);
  };
  pool.on("error", report);
  pool.on("connect", (client) => client.on("error", report));
  settings.watch(pool);
  learnForgotten(pool);
  closeReadOnly(pool);
  return pool;
}
