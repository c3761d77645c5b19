import {
  COMMAND_PARAMETER,
  MillraceError,
  postgresProblem,
  readUrl,
  withParameter,
} from "@millrace/core";
import { readFileSync } from "node:fs";
import pg from "pg";
import { parse, toClientConfig } from "pg-connection-string";
import { PasswordCommand } from "./password-command.ts";

/** Parts of a URL that a pool takes. Times of statements, and its name, are the pool's own. */
const TAKEN = [
  ...(["user", "password", "host", "port", "database"] as const),
  ...(["ssl", "sslnegotiation", "options"] as const),
];

/**
 * Makes a pool for a URL, which is read as pg reads it; `sslrootcert=system` stands for Node's CAs.
 * @throws `invalid_config` with the parameter that is wrong
 */
export function openPool(url: string, settings: pg.PoolConfig): pg.Pool {
  const problem = postgresProblem(url);
  if (problem !== undefined) throw unusable(problem);
  const { [COMMAND_PARAMETER]: command, ...parsed } = parseUrl(url);
  const given = Object.entries({ ...toClientConfig(parsed) });
  const taken: pg.PoolConfig = Object.fromEntries(
    given.filter(([name]) => TAKEN.some((each) => each === name)),
  );
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
