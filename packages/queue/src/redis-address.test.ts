import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "@millrace/core";
import { afterAll, expect, test } from "vitest";
import { checkTopology, connectRedis, isRedisOnThisMachine } from "./redis-address.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-ca-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The options that ioredis reads from a URL. */
const optionsOf = (url: string) => connectRedis(url, { lazyConnect: true }).options;

test("a URL of one server is read", () => {
  expect(optionsOf("rediss://user:p%23w@redis.internal:6380/2?family=6")).toMatchObject({
    ...{ host: "redis.internal", port: 6380, username: "user", password: "p#w", db: 2 },
    ...{ family: 6, tls: true },
  });
});

const TLS = { rejectUnauthorized: false };

test.each([
  ["host and database", "redis://red-1:6379/3", { host: "red-1", port: 6379, db: 3 }],
  ["no port", "redis://127.0.0.1", { host: "127.0.0.1", port: 6379, db: 0 }],
  ["Upstash", "rediss://default:AYa=@eu1-a-1.upstash.io:6379", { password: "AYa=", tls: true }],
  ["Heroku", "rediss://:p@ec2-1.aws.com:7480?sslmode=no-verify", { password: "p", tls: TLS }],
  ["an encoded password", "redis://user:pa%40ss@h", { username: "user", password: "pa@ss" }],
  ["a plain @ in a password", "redis://user:pa@ss@h", { host: "h", password: "pa@ss" }],
  ["an IPv6 address", "redis://[fdaa::3]:6380/0", { host: "fdaa::3", port: 6380 }],
  ["Railway", "redis://default:p@redis.railway.internal:6379/0?family=6", { family: 6, db: 0 }],
  ["Fly", "redis://default:p@fly-a.upstash.io:6379?family=0", { family: 0 }],
  ["a socket", "unix:///run/redis/redis.sock?db=2", { path: "/run/redis/redis.sock", db: 2 }],
  ["a socket's path", "/run/a%20b.sock?password=p", { path: "/run/a b.sock", password: "p" }],
  ["the CAs of Node", "rediss://:p@h?sslrootcert=system", { tls: true }],
])("a URL of Redis as written for %s is read", (_, url, expected) => {
  readEnvironment({ REDIS_URL: url });
  expect(optionsOf(url)).toMatchObject(expected);
});

test("a CA's file is read", () => {
  const file = join(folder, "a ca&.pem");
  writeFileSync(file, "a certificate");
  const ca = `sslrootcert=${encodeURIComponent(file)}`;
  const options = optionsOf(`rediss://user:p%23w@redis.internal:6380/2?${ca}`);
  expect(options).toMatchObject({ host: "redis.internal", tls: { ca: "a certificate" } });
  expect(options).not.toHaveProperty("sslrootcert");
  expect(optionsOf(`rediss+sentinel://h1/main?${ca}`)).toMatchObject({
    ...{ tls: { ca: "a certificate" }, sentinelTLS: { ca: "a certificate" } },
    enableTLSForSentinelMode: true,
  });
});

test("a file that is not there is told, and no password is", () => {
  const read = () => optionsOf(`rediss://:hidden@redis:6379?sslrootcert=${folder}/none.pem`);
  expect(read).toThrow(expect.objectContaining({ code: "invalid_config" }));
  expect(read).toThrow(/none\.pem/);
  expect(read).not.toThrow(/hidden/);
});

test("a URL of Sentinels has the hosts, the primary's name, and what each of them is signed in with", () => {
  const url =
    "redis+sentinel://user:p%23w@10.0.0.1:26380,[::1],h3/main?db=2&sentinelUsername=s&sentinelPassword=s%26w";
  expect(optionsOf(url)).toMatchObject({
    sentinels: [
      { host: "10.0.0.1", port: 26_380 },
      { host: "::1", port: 26_379 },
      { host: "h3", port: 26_379 },
    ],
    ...{ name: "main", role: "master", username: "user", password: "p#w", db: 2 },
    ...{ sentinelUsername: "s", sentinelPassword: "s&w", enableTLSForSentinelMode: false },
  });
});

test.each([
  ["redis+sentinel://:hidden@h1,h2", "names no primary"],
  ["redis+sentinel://:hidden@h1,h2/a/b", "names no primary"],
  ["redis+sentinel://:hidden@h1,h2:99999/main", "is not 1 to 65535"],
  ["redis+sentinel://:hidden@h1,/main", 'names "", which is no host'],
  ["redis+sentinel://:hidden@h1/main?db=x", "has a database that is no number"],
])("%s is refused", (url, why) => {
  expect(() => optionsOf(url)).toThrow(why);
  expect(() => optionsOf(url)).not.toThrow(/hidden/);
});

test("only one server on loopback is on this machine: Sentinel may name any", () => {
  expect(isRedisOnThisMachine("redis://[::1]:6379")).toBe(true);
  expect(isRedisOnThisMachine("unix:///run/redis.sock")).toBe(true);
  expect(isRedisOnThisMachine("redis://redis:6379")).toBe(false);
  expect(isRedisOnThisMachine("redis+sentinel://127.0.0.1:26379/main")).toBe(false);
});

test.each([
  [{ redis_mode: "cluster", role: "master" }, "Redis Cluster"],
  [{ redis_mode: "sentinel" }, "redis+sentinel://"],
  [{ role: "slave", master_host: "10.0.0.7", master_port: "6379" }, "10.0.0.7:6379"],
])("a server that says %j is refused, with what to set", (info, part) => {
  const check = () => checkTopology(new Map(Object.entries(info)));
  expect(check).toThrow(expect.objectContaining({ code: "redis_topology" }));
  expect(check).toThrow(part);
});

test("a primary is taken, also one that does not say so", () => {
  checkTopology(new Map([["redis_mode", "standalone"]]));
  checkTopology(new Map([["role", "master"]]));
  checkTopology(new Map());
});
