import { createServer } from "node:http";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { closeServer, listen } from "./http-server.ts";
import { createStatusApp } from "./status-app.ts";

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
