import { makeQueueKey, type Config } from "@millrace/core";
import { expect, test } from "vitest";
import { openIngress } from "./ingress-stores.ts";
import { openCommand, openDashboard, openWorker } from "./open-stores.ts";
import { queueKeys, warnIfUnsigned } from "./open-queues.ts";

const MILLRACE_QUEUE_KEY = makeQueueKey();

test.each([
  ["redis://127.0.0.1:6379"],
  ["redis://:password@localhost"],
  ["rediss://[::1]:6380/1"],
  ["redis://127.8.8.8"],
])("%s is on this machine, and needs no key", (REDIS_URL) => {
  expect(queueKeys({ REDIS_URL })).toBeUndefined();
  expect(queueKeys({ REDIS_URL, MILLRACE_QUEUE_KEY })).toBeDefined();
});

test.each([
  ["redis://redis:6379"],
  ["redis://10.0.0.7"],
  ["rediss://localhost.example.com"],
  ["redis+sentinel://127.0.0.1:26379,127.0.0.1:26380/main"],
])("%s is on another machine, or may be, and needs a key", (REDIS_URL) => {
  expect(() => queueKeys({ REDIS_URL })).toThrow(
    expect.objectContaining({
      code: "queue_key_missing",
      message: expect.stringContaining("openssl rand -hex 32"),
    }),
  );
  expect(queueKeys({ REDIS_URL, MILLRACE_QUEUE_KEY })).toBeDefined();
});

test("with the queue on Postgres no key is used", () => {
  expect(queueKeys({ REDIS_URL: undefined, MILLRACE_QUEUE_KEY })).toBeUndefined();
});

test("a role without a key on Redis says so, and no other does", () => {
  const lines: unknown[] = [];
  const logger = { warn: (line: unknown) => void lines.push(line) };
  const REDIS_URL = "redis://127.0.0.1";
  warnIfUnsigned({ REDIS_URL, MILLRACE_QUEUE_KEY }, logger);
  warnIfUnsigned({ REDIS_URL: undefined }, logger);
  expect(lines).toEqual([]);
  warnIfUnsigned({ REDIS_URL }, logger);
  expect(lines).toEqual([expect.stringContaining("MILLRACE_QUEUE_KEY")]);
});

test("no role starts without a key on a Redis of another machine", () => {
  const urls = { REDIS_URL: "redis://redis.internal:6379" };
  const missing = expect.objectContaining({ code: "queue_key_missing" });
  const config = { sources: {}, worker: {}, retention: {} } as unknown as Config;
  for (const open of [openIngress, openWorker, openDashboard, openCommand]) {
    expect(() => open(urls, config, {})).toThrow(missing);
  }
});
