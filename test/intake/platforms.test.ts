import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createExpressAdapter, createFetchAdapter, createNodeAdapter } from "@millrace/intake";
import { Receiver, type IntakeNotice } from "@millrace/intake";
import express from "express";
import { fastify, type FastifyInstance } from "fastify";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { serve } from "../support/free-port.ts";
import { createMemoryStore, type MemoryStore } from "./memory-store.ts";
import { plainConfig, SECRETS, signed } from "./plain-config.ts";
import { sendTo } from "./send-to.ts";

let store: MemoryStore;
let notices: IntakeNotice[];
let receiver: Receiver;

beforeEach(() => {
  [store, notices] = [createMemoryStore(), []];
  const notify = (notice: IntakeNotice) => void notices.push(notice);
  receiver = new Receiver({ config: plainConfig(), secrets: SECRETS, stores: [store], notify });
});

async function portOf(listener: RequestListener): Promise<number> {
  const { port, close } = await serve(listener);
  onTestFinished(close);
  return port;
}

type Middleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

const app = (before?: Middleware) => () => {
  const made = express();
  if (before !== undefined) made.use(before);
  return made.use("/webhooks", createExpressAdapter(receiver)) as RequestListener;
};

const fast = (build: (made: FastifyInstance) => void) => async () => {
  let handler: RequestListener = () => {};
  const made = fastify({
    serverFactory: (handle) => createServer((handler = handle)),
  });
  build(made);
  const adapter = createNodeAdapter(receiver);
  made.post("/webhooks/plain", (request, reply) =>
    adapter.handle(request.raw, reply.hijack().raw, "plain"),
  );
  await made.ready();
  return handler;
};

const read = (given: (text: string) => object, keepsBytes = false): Middleware =>
  async function readBody(request, _response, next) {
    const bytes = Buffer.concat(await request.toArray());
    Object.assign(request, given(bytes.toString()), keepsBytes && { rawBody: bytes });
    next();
  };
const parsed = (text: string) => ({ body: JSON.parse(text) as unknown });

const BYTES = 202;
const GONE = 500;

test.each([
  ["Express without a parser", app(), BYTES],
  ["Express with express.raw()", app(express.raw({ type: "*/*" })), BYTES],
  ["Express with express.json()", app(express.json()), GONE],
  ["Express with express.text()", app(express.text({ type: "*/*" })), GONE],
  ["Express with express.urlencoded() for JSON", app(express.urlencoded({ type: "*/*" })), GONE],
  ["Express with a parser of another type", app(express.urlencoded()), BYTES],
  ["Fastify with its parsers", fast(() => {}), GONE],
  [
    "Fastify without its parsers",
    fast((made) => {
      made.removeAllContentTypeParsers();
      made.addContentTypeParser("*", (_request, _body, done) => done(null));
    }),
    BYTES,
  ],
  ["Nest as it is", app(express.json()), GONE],
  ["Nest with rawBody: true", app(read(parsed, true)), BYTES],
  ["Nest with bodyParser: false", app(), BYTES],
  ["Next's pages with their parser", app(read(parsed)), GONE],
  ["Next's pages with bodyParser: false", app(), BYTES],
  ["Firebase and Cloud Functions", app(read(parsed, true)), BYTES],
  [
    "a platform that hands over what it parsed",
    app((to, _, next) => {
      Object.assign(to, { body: {} });
      next();
    }),
    GONE,
  ],
  ["a middleware that reads and keeps nothing", app(read(() => ({}))), GONE],
])("under %s a delivery is taken by its bytes, or its app is told", async (_, make, status) => {
  const port = await portOf(await make());
  const { body, headers } = signed('{ "id":"evt 1",\n "n": 1.0, "é": "\\u00e9" }');
  const answer = await sendTo(port, { source: "plain", body, headers });
  expect(answer.status).toBe(status);
  if (status === BYTES) {
    expect(answer.headers["millrace-event-id"]).toBe("evt%201");
    expect(Buffer.from(store.events.get("plain/evt 1")?.body ?? []).toString()).toBe(body);
    return;
  }
  expect(JSON.parse(answer.text)).toMatchObject({
    error: { code: "body_already_read", message: expect.stringContaining("before express.json()") },
  });
  expect(store.calls).toEqual([]);
  expect(notices).toMatchObject([{ outcome: "rejected", code: "body_already_read" }]);
});

test("a router leaves other paths, and other routes of the app, to the app", async () => {
  const made = express().use("/webhooks", createExpressAdapter(receiver));
  const port = await portOf(made.use((to, answer) => void answer.status(418).send(to.url)));
  for (const source of ["", "plain/", "plain/more", "?x=1"]) {
    expect((await sendTo(port, { source })).status).toBe(418);
  }
  expect((await sendTo(port, { source: "nobody", ...signed({ id: "evt_1" }) })).status).toBe(401);
});

test("a body that a platform has read is refused beyond the source's limit", async () => {
  const port = await portOf(app(express.raw({ type: "*/*", limit: "1mb" }))());
  const large = signed({ id: "e", x: "x".repeat(70_000) });
  expect((await sendTo(port, { source: "plain", ...large })).status).toBe(413);
});

const { body, headers } = signed('{ "id":"evt_é", "n": 1.0 }');
const BASE64 = Buffer.from(body).toString("base64");

test.each([
  ["API Gateway", { rawPath: "/webhooks/plain", isBase64Encoded: false, body, headers }],
  ["API Gateway, base64", { isBase64Encoded: true, body: BASE64, headers }],
  ["an ALB, base64", { path: "/webhooks/plain", isBase64Encoded: true, body: BASE64, headers }],
  ["Hono and Next's route handlers", { isBase64Encoded: false, body, headers }],
])("the Request of %s has the sender's bytes", async (_, event) => {
  const bytes = Buffer.from(event.body, event.isBase64Encoded ? "base64" : "utf8");
  const request = new Request("https://h/webhooks/plain", {
    ...{ method: "POST", headers: event.headers, body: bytes },
  });
  expect((await createFetchAdapter(receiver)(request, "plain")).status).toBe(202);
  expect(Buffer.from(store.events.get("plain/evt_é")?.body ?? []).toString()).toBe(body);
});
