import { createServer } from "node:http";
import { MillraceError } from "@millrace/core";
import express from "express";
import { expect, test } from "vitest";
import { answerErrors } from "./answer-error.ts";

// As pg gives what Postgres said, where no code of ours was in between.
const refusal = (code: string, message: string) =>
  Object.assign(new Error(message), { severity: "FATAL", code });

async function answerTo(error: unknown) {
  const app = express();
  const heard: unknown[] = [];
  app.use(() => {
    throw error;
  });
  app.use(answerErrors((one) => heard.push(one)));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  const body = (await answer.json()) as { error: { code: string; message: string } };
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return { status: answer.status, retryAfter: answer.headers.get("retry-after"), body, heard };
}

test.each([
  new MillraceError("database_unavailable", "Cannot use Postgres: 10.0.0.7 is gone"),
  new MillraceError("redis_unreachable", "Cannot ping: 10.0.0.8 is gone"),
  refusal("53300", "sorry, too many clients already"),
  refusal("25006", "cannot execute UPDATE in a read-only transaction"),
  new Error("Connection terminated unexpectedly"),
])("%s is 503, with a time to come again, and heard of", async (error) => {
  const answer = await answerTo(error);
  expect(answer).toMatchObject({
    ...{ status: 503, retryAfter: "5", heard: [error] },
    body: { error: { code: "unavailable" } },
  });
  expect(answer.body.error.message).not.toContain(error.message);
});

test("what nobody expected is 500 and shows nothing of itself", async () => {
  const error = new Error("secret");
  const answer = await answerTo(error);
  expect(answer).toMatchObject({
    status: 500,
    heard: [error],
    body: { error: { code: "internal", docs: "docs/errors.md#internal" } },
  });
  expect(JSON.stringify(answer.body)).not.toContain("secret");
});
