import { createRequire } from "node:module";
import { PostgresConnection, PostgresQueueBackend, RedisQueueBackend, Worker } from "bullmq";
import { expect, test } from "vitest";
import { bullmqScript, requireKnownBullmq } from "./redis-script.ts";

const load = createRequire(import.meta.url);

/** The text of one of BullMQ's scripts, as it is installed. */
function scriptOf(name: string, keys: number): string {
  const scripts = load(`bullmq/dist/cjs/scripts/${name}-${keys}.js`) as Readonly<
    Record<string, { keys: number; content: string }>
  >;
  expect(scripts[name]?.keys, `${name} takes another number of keys`).toBe(keys);
  return scripts[name]?.content ?? "";
}

test("the BullMQ that is installed is the pinned one", () => {
  requireKnownBullmq();
});

test("another BullMQ than the pinned one is refused, and both versions are named", () => {
  expect(() => requireKnownBullmq("6.8.0")).toThrow(
    "Cannot use BullMQ 6.8.0: this build adds jobs as BullMQ 6.7.0 does",
  );
});

test.each([
  ["worker.createJob", Worker.prototype, "createJob"],
  ["backend.execCommand on Redis", RedisQueueBackend.prototype, "execCommand"],
  ["connection.getListenClient on Postgres", PostgresConnection.prototype, "getListenClient"],
  ["backend.disconnectBlocking on Postgres", PostgresQueueBackend.prototype, "disconnectBlocking"],
  ["backend.reconnectBlocking on Postgres", PostgresQueueBackend.prototype, "reconnectBlocking"],
])("BullMQ has the method %s", (_title, prototype: object, name) => {
  expect(prototype).toHaveProperty(name, expect.any(Function));
});

test.each([
  ["moveToActive", 11],
  ["moveToDelayed", 11],
  ["moveToFinished", 14],
] as const)("%s counts the runs of a job in one known line, which is replaced", (name, keys) => {
  const count = 'rcall("HINCRBY", jobKey, "ats", 1)';
  expect(scriptOf(name, keys).split(count)).toHaveLength(2);
  const patched = bullmqScript(name);
  expect(patched.keys).toBe(keys);
  expect(patched.content).not.toContain(`\n  ${count}\n`);
  expect(patched.content).toContain('redis.pcall("HINCRBY", jobKey, "ats", 1)');
});

test.each([
  ["the name by which it runs commands", "local rcall = redis.call\n"],
  ["the line after its functions", "\nlocal jobIdKey = KEYS[12]\n"],
  ["the time in ARGV[2]", "local timestamp = ARGV[2]"],
  ["the state in ARGV[5]", 'if ARGV[5] == "completed" then'],
  ["the prefix in ARGV[7]", "local prefix = ARGV[7]"],
  ["trimEvents", "local function trimEvents(metaKey, eventStreamKey)"],
  ["removeJobsByMaxAge", "local function removeJobsByMaxAge(timestamp, maxAge, targetSet, prefix,"],
  ["removeJobsByMaxCount", "local function removeJobsByMaxCount(maxCount, targetSet, prefix)"],
])("moveToFinished has %s, on which redis-worker.ts relies", (_title, text) => {
  expect(scriptOf("moveToFinished", 14)).toContain(text);
});
