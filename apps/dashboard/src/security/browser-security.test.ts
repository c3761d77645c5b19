import { createServer, request, type Server } from "node:http";
import express from "express";
import { afterEach, beforeEach, expect, test } from "vitest";
import { answerErrors } from "../api/answer-error.ts";
import { checkHost, checkWrite } from "./browser-security.ts";

let server: Server;
let port: number;

async function serve(options: { boundHost?: string; hosts?: string[] }) {
  const app = express();
  app.use(checkHost(options.boundHost ?? "127.0.0.1", options.hosts));
  app.use(checkWrite);
  app.use((_request, response) => void response.json({}));
  app.use(answerErrors(() => {}));
  server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
}

// fetch() would not let a test choose Host or Origin.
function ask(
  headers: Record<string, string>,
  options: { method?: string; body?: string } = {},
): Promise<{ status: number; headers: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const method = options.method ?? "GET";
    const sent = request({ port, host: "127.0.0.1", method, headers }, (response) => {
      response.resume();
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers });
      });
    });
    sent.on("error", reject);
    sent.end(options.body);
  });
}

beforeEach(() => serve({}));
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
const again = async (options: Parameters<typeof serve>[0]) => {
  await new Promise((resolve) => server.close(resolve));
  await serve(options);
};

test.each(["localhost", "LocalHost:3001", "127.0.0.1", "127.0.0.1:1", "[::1]:3001"])(
  "Host %s is this machine",
  async (host) => expect((await ask({ host })).status).toBe(200),
);

test.each([
  ...["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:3001", "10.0.0.1"],
  ...["localhost@evil.example", "127.0.0.1:80:90", "localhost:", "[::2]"],
])("Host %j is refused", async (host) => expect((await ask({ host })).status).toBe(403));

test("names that were configured pass, and addresses where every address is listened on", async () => {
  await again({ boundHost: "0.0.0.0", hosts: ["Dash.example.com"] });
  expect((await ask({ host: "dash.EXAMPLE.com" })).status).toBe(200);
  expect((await ask({ host: "10.1.2.3:3001" })).status).toBe(200);
  expect((await ask({ host: "[2001:db8::1]:3001" })).status).toBe(200);
  expect((await ask({ host: "evil.example" })).status).toBe(403);
});

test.each([
  [{ origin: "https://evil.example" }, 403],
  [{ origin: "null" }, 403],
  [{ origin: "http://localhost:9" }, 403],
  [{ "sec-fetch-site": "cross-site" }, 403],
  [{ "sec-fetch-site": "same-site" }, 403],
  [{ origin: "http://localhost:3001", "sec-fetch-site": "same-origin" }, 200],
  [{ origin: "https://localhost:3001" }, 200],
  [{}, 200],
])("a write with %j is answered %i", async (headers, status) => {
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    expect((await ask({ host: "localhost:3001", ...headers }, { method })).status).toBe(status);
  }
});

test("a read from another site is served: its page cannot see the answer", async () => {
  expect((await ask({ "sec-fetch-site": "cross-site" })).status).toBe(200);
});

test.each([
  ["application/x-www-form-urlencoded", "a=1", 415],
  ["multipart/form-data; boundary=x", "--x--", 415],
  ["text/plain", "{}", 415],
  ["application/json-but-not", "{}", 415],
  ["application/x-www-form-urlencoded", "", 415],
  [undefined, "{}", 415],
  [undefined, "", 200],
  ["application/json", "{}", 200],
  ["Application/JSON; charset=utf-8", "{}", 200],
])("a write of type %s with body %j is answered %i", async (type, body, status) => {
  const headers = type === undefined ? {} : { "content-type": type };
  expect((await ask(headers, { method: "POST", body })).status).toBe(status);
});
