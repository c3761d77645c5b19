import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startPostgres } from "./postgres.ts";
import { queryOnce } from "./query-once.ts";
import { withRedis } from "./redis-client.ts";
import { startRedis, type TestRedis } from "./redis-server.ts";

const INFRA = fileURLToPath(new URL("../../infra", import.meta.url));

export const readRolesSql = () => readFile(join(INFRA, "postgres", "roles.sql"), "utf8");

export type Login = "owner" | "ingress" | "worker" | "retention" | "dashboard";

type RedisUser = "admin" | "ingress" | "worker" | "dashboard";

export type GuardedServers = Awaited<ReturnType<typeof startGuardedServers>>;

const passwordOf = (name: string) => `the-password-of-${name}`;

export async function startGuardedServers({ onRedis }: { onRedis: boolean }) {
  const [postgres, redis] = await Promise.all([
    startPostgres(),
    onRedis ? startGuardedRedis() : undefined,
  ]);
  const redisUrl = (user: RedisUser) => redis && redisUrlOf(redis, user);
  return {
    postgres,
    databaseUrl: (login: Login) => {
      const url = new URL(postgres.url);
      url.username = `millrace_${login}`;
      url.password = passwordOf(login);
      return url.href;
    },
    redisUrl,
    grant: async (handlerSchemas: string) => {
      const logins = ["owner", "ingress", "worker", "retention", "dashboard"];
      const passwords = logins.map(
        (login) => `ALTER ROLE millrace_${login} PASSWORD '${passwordOf(login)}';`,
      );
      const schemas = `SET millrace.handler_schemas = '${handlerSchemas}';`;
      await queryOnce(postgres.url, `${schemas}\n${await readRolesSql()}\n${passwords.join("\n")}`);
    },
    refusedByRedis: () =>
      withRedis(redisUrl("admin") ?? "", async (client) => {
        const entries = (await client.call("ACL", "LOG")) as string[][];
        await client.call("ACL", "LOG", "RESET");
        return entries.map((fields) => JSON.stringify(fields));
      }),
    stop: async () => {
      await Promise.all([postgres.stop(), redis?.stop()]);
    },
  };
}

export async function startGuardedRedis(): Promise<TestRedis> {
  const redis = await startRedis();
  await useAcl(redis.url);
  return redis;
}

export function redisUrlOf({ port }: TestRedis, user: RedisUser): string {
  const name = user === "admin" ? user : `millrace-${user}`;
  return `redis://${name}:${passwordOf(user)}@127.0.0.1:${port}`;
}

async function useAcl(url: string): Promise<void> {
  const lines = (await readFile(join(INFRA, "redis", "users.acl"), "utf8")).trim().split("\n");
  await withRedis(url, async (client) => {
    for (const line of lines.toReversed()) {
      const [, name = "", ...rules] = line.split(" ");
      const withPassword = rules.map((rule) =>
        rule.replace(/^#(\w+)_PASSWORD_SHA256$/, (_, role: string) => {
          return `>${passwordOf(role.toLowerCase())}`;
        }),
      );
      await client.call("ACL", "SETUSER", name, "reset", ...withPassword);
    }
  });
}
