import type pg from "pg";
import { causes, SQLSTATE, sqlStateOf } from "./sqlstate.ts";

export type Build = (values: Readonly<Record<string, unknown>>) => pg.QueryConfig;

/** `:run` in the text of a statement, but neither `::text` nor a colon in a word or a time. */
const PARAMETER = /(?<![:\w]):([a-z][A-Za-z]*)/g;

/** `:run` in the text is the value `run`. With a `name` it is prepared on each connection. */
export function statement(text: string, name?: string): Build {
  const parameters: string[] = [];
  const numbered = text.replaceAll(PARAMETER, (_, parameter: string) => {
    if (!parameters.includes(parameter)) parameters.push(parameter);
    return `$${parameters.indexOf(parameter) + 1}`;
  });
  return (values) => ({
    ...(name === undefined ? {} : { name }),
    text: numbered,
    values: parameters.map((parameter) => {
      const value = values[parameter];
      if (value !== undefined || parameter in values) return value;
      throw new Error(`Cannot run ${name ?? text}: no value for ":${parameter}"`);
    }),
  });
}

/** A statement that names today's partition (UTC), so that Postgres locks no other. */
export function dailyStatement(text: (day: string) => string, name: string): () => Build {
  let built: { readonly day: string; readonly run: Build } | undefined;
  return () => {
    const day = new Date().toISOString().slice(0, 10);
    if (built?.day !== day) built = { day, run: statement(text(day), `${name}_${day}`) };
    return built.run;
  };
}

/** Postgres plans an unprepared statement each time: a third of the cost of an INSERT. */
const FROM_USES = 20;
const NAMES_MAX = 100;
/** Texts whose uses are counted. A text that has values in it is another one each time. */
const TEXTS_MAX = 1_000;

const uses = new Map<string, number>();
const names = new Map<string, string>();

export function preparedName(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= NAMES_MAX) return known;
  const count = (uses.get(text) ?? 0) + 1;
  if (count < FROM_USES) {
    if (uses.size >= TEXTS_MAX) uses.clear();
    uses.set(text, count);
    return undefined;
  }
  uses.delete(text);
  const name = `millrace_handler_${names.size + 1}`;
  names.set(text, name);
  return name;
}

/** A handler deallocated them, or a pooler gave the next transaction another server. */
const forgetful = new WeakSet<pg.ClientBase>();

export function forgetPrepared(client: pg.ClientBase): void {
  forgetful.add(client);
}

export function keepsPrepared(client: pg.ClientBase): boolean {
  return !forgetful.has(client);
}

/**
 * A function can deallocate out of sight, and a pooler changes the server. That connection sends no
 * names from then on; after a statement of the ledger, no connection of the pool does.
 */
export function learnForgotten(pool: pg.Pool): void {
  const clients = new Set<pg.PoolClient>();
  let isTold = false;
  pool.on("connect", (client) => {
    clients.add(client);
    if (isTold) forgetPrepared(client);
    client.connection.on(
      "errorMessage",
      ({ code, message }: { code?: string; message: string }) => {
        if (!NAME_STATES.has(code ?? "")) return;
        forgetPrepared(client);
        if (!message.includes("millrace_")) return;
        isTold = true;
        for (const each of clients) forgetPrepared(each);
      },
    );
  });
  pool.on("remove", (client) => clients.delete(client));
}

const NAME_STATES: ReadonlySet<string> = new Set([
  SQLSTATE.invalidSqlStatementName,
  SQLSTATE.duplicatePreparedStatement,
]);

/** True when a prepared statement no longer fits tables whose columns have changed. */
export function isStale(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (NAME_STATES.has(state ?? "")) return true;
  // The same state also says that Postgres lacks a feature, and the message is translated.
  const isOfPlan = [...causes(error)].some(
    (link) => "routine" in link && link.routine === "RevalidateCachedQuery",
  );
  return state === SQLSTATE.featureNotSupported && isOfPlan;
}
