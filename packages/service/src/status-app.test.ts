import { MillraceError } from "@millrace/core";
import { createServer } from "node:http";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { closeServer, listen } from "./http-server.ts";
import { checkParts, createStatusApp } from "./status-app.ts";

test("what is served nowhere and what fails are both answered as JSON with a code", async () => {
  const errors: unknown[] = [];
  const trouble = new Error("a part that throws");
  const app = createStatusApp({
    registry: new Registry(),
    readiness: () => Promise.reject(trouble),
    onError: (error) => errors.push(error),
  });
  const server = createServer(app);
  const port = await listen(server, { port: 0, host: "127.0.0.1" });
  const ask = async (path: string, method = "GET") => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    const answer: unknown = await response.json();
    return { status: response.status, answer };
  };
  const missing = {
    status: 404,
    answer: {
      error: { code: "not_found", message: "Cannot serve this path: it does not exist" },
    },
  };
  expect(await ask("/")).toEqual(missing);
  expect(await ask("/healthz", "POST")).toEqual(missing);
  expect(await ask("/readyz")).toMatchObject({
    status: 500,
    answer: { error: { code: "internal" } },
  });
  expect(errors).toEqual([trouble]);
  await closeServer(server, { timeoutMs: 1_000 });
});

test("a process is ready when every part answers", async () => {
  const readiness = await checkParts({ queue: async () => 1, ledger: async () => undefined });
  expect(readiness).toEqual({ ready: true, parts: { queue: "ok", ledger: "ok" } });
});

test("a part that fails or hangs is named without an address, and the others are asked too", async () => {
  const unreachable = new MillraceError("redis_unreachable", "connect ECONNREFUSED 10.1.2.3:6379");
  const refused = new Error("connect ECONNREFUSED 10.1.2.3:5432");
  const failures = new Map<string, unknown>();
  const readiness = await checkParts(
    {
      queue: () => Promise.reject(unreachable),
      postgres: () => Promise.reject(refused),
      ledger: () => new Promise(() => {}),
      workers: async () => true,
    },
    { timeoutMs: 20, onFailure: (part, error) => failures.set(part, error) },
  );
  expect(readiness).toEqual({
    ready: false,
    parts: {
      queue: "redis_unreachable",
      postgres: "unavailable",
      ledger: "no answer within 20 ms",
      workers: "ok",
    },
  });
  // The log gets the rest.
  expect(failures).toEqual(
    new Map([
      ["queue", unreachable],
      ["postgres", refused],
      ["ledger", new Error("no answer within 20 ms")],
    ]),
  );
});
