import { createServer, type IncomingMessage, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Receiver, createExpressAdapter, type IntakeNotice } from "@millrace/intake";
import express, { type Express } from "express";
import { afterEach, expect, test } from "vitest";
import { createMemoryStore, type MemoryStore } from "./memory-store.ts";
import { plainConfig, SECRETS, signed } from "./plain-config.ts";
import { sendTo } from "./send-to.ts";

let store: MemoryStore;
let notices: IntakeNotice[];
let server: Server;

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function serve(
  build: (app: Express, router: ReturnType<typeof createExpressAdapter>) => void,
) {
  [store, notices] = [createMemoryStore(), []];
  const receiver = new Receiver({
    config: plainConfig(),
    secrets: SECRETS,
    stores: [store],
    notify: (notice) => notices.push(notice),
  });
  const app = express();
  build(app, createExpressAdapter(receiver));
  server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test.each([
  ["express.raw()", express.raw({ type: "*/*" })],
  [
    "a platform, into rawBody",
    express.json({ verify: (to, _, bytes) => Object.assign(to, { rawBody: bytes }) }),
  ],
])("a router takes the bytes that were read before by %s", async (_, before) => {
  const port = await serve((app, router) => void app.use(before).use("/webhooks", router));
  const answer = await sendTo(port, { source: "plain", ...signed({ id: "evt 1" }) });
  expect([answer.status, answer.headers["millrace-event-id"]]).toEqual([202, "evt%201"]);
  const large = await sendTo(port, {
    source: "plain",
    ...signed({ id: "e", x: "x".repeat(70_000) }),
  });
  expect(large.status).toBe(413);
});

test.each([
  ["that a body parser has read", express.json()],
  [
    "that is parsed and still unread, as some platforms hand it over",
    (request: IncomingMessage, _response: unknown, next: () => void) => {
      Object.assign(request, { body: {} });
      next();
    },
  ],
  [
    "that something has read and not kept",
    (request: IncomingMessage, _response: unknown, next: () => void) => {
      request.resume();
      request.once("end", next);
    },
  ],
])("a router refuses a body %s, and says where it belongs", async (_, before) => {
  const port = await serve((app, router) => {
    app.use(before);
    app.use("/webhooks", router);
  });
  const answer = await sendTo(port, { source: "plain", ...signed({ id: "evt_1" }) });
  expect(answer.status).toBe(500);
  expect(JSON.parse(answer.text)).toMatchObject({
    error: { code: "body_already_read", message: expect.stringContaining("before express.json()") },
  });
  expect(store.calls).toEqual([]);
  expect(notices).toMatchObject([{ outcome: "rejected", code: "body_already_read" }]);
});

test("a router leaves other paths, and other routes of the app, to the app", async () => {
  const port = await serve((app, router) => {
    app.use("/webhooks", router);
    app.use((request, response) => void response.status(418).send(request.url));
  });
  for (const source of ["", "plain/", "plain/more", "?x=1"]) {
    expect((await sendTo(port, { source })).status).toBe(418);
  }
  const unknown = await sendTo(port, { source: "nobody", ...signed({ id: "evt_1" }) });
  expect(unknown.status).toBe(401);
});
