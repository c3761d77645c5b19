import { randomBytes } from "node:crypto";
import { migrate } from "@millrace/ledger";
import { inject } from "vitest";
import { queryOnce, withPool } from "./query-once.ts";

export type TestDatabase = Awaited<ReturnType<typeof createDatabase>>;

export const scratchDatabase = () => createDatabase();

let template: Promise<string> | undefined;

export async function migratedDatabase() {
  template ??= createTemplate();
  return await createDatabase(`TEMPLATE ${await template}`);
}

async function createDatabase(options = "") {
  const name = `scratch_${randomBytes(6).toString("hex")}`;
  await onServer(`CREATE DATABASE ${name} ${options}`);
  return {
    url: urlOf(name),
    drop: () => onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function createTemplate(): Promise<string> {
  const name = `template_${randomBytes(6).toString("hex")}`;
  await onServer(`CREATE DATABASE ${name}`);
  await withPool(urlOf(name), (pool) => migrate({ pool }));
  return name;
}

export type DatabaseCopy = Awaited<ReturnType<typeof copyDatabase>>;

export async function copyDatabase(url: string) {
  const name = new URL(url).pathname.slice(1);
  const copy = `copy_${randomBytes(6).toString("hex")}`;
  const copyOver = async (from: string, to: string) => {
    await onServer(`ALTER DATABASE ${from} ALLOW_CONNECTIONS false`);
    await onServer(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${from}'`,
    );
    await onServer(`CREATE DATABASE ${to} TEMPLATE ${from}`);
    await onServer(`ALTER DATABASE ${from} ALLOW_CONNECTIONS true`);
  };
  await copyOver(name, copy);
  return {
    restore: async () => {
      await onServer(`DROP DATABASE ${name} WITH (FORCE)`);
      await copyOver(copy, name);
      // As `millrace restored` does.
      await queryOnce(url, "UPDATE millrace.identity SET database_oid = NULL, system_id = NULL");
    },
    drop: () => onServer(`DROP DATABASE IF EXISTS ${copy} WITH (FORCE)`),
  };
}

function urlOf(name: string): string {
  const url = new URL(inject("postgresUrl"));
  url.pathname = `/${name}`;
  return url.href;
}

async function onServer(statement: string): Promise<void> {
  await queryOnce(inject("postgresUrl"), statement);
}
