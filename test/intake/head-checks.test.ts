import type { IncomingMessage, Server } from "node:http";
import { parseConfig, type DeliveryHead, type Provider, type Refusal } from "@millrace/core";
import {
  createFetchAdapter,
  createNodeAdapter,
  Receiver,
  type IntakeNotice,
} from "@millrace/intake";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serve } from "../support/free-port.ts";
import { createMemoryStore, type MemoryStore } from "./memory-store.ts";
import { signed } from "./plain-config.ts";
import { plainProvider } from "./plain-provider.ts";
import { connect } from "./raw-connection.ts";
import { rawRequest } from "./test-ingress.ts";

const SECRET = "a-plain-secret";
const STALE: Refusal = { ok: false, code: "invalid_timestamp", message: "Cannot: stale" };

let server: Server;
let close: () => Promise<void>;
let store: MemoryStore;
let receiver: Receiver;
let port: number;
let notices: IntakeNotice[];
let heads: DeliveryHead[];
let answer: () => Refusal | undefined;

function provider(): Provider {
  const plain = plainProvider();
  return {
    ...plain,
    createVerifier: (secrets) => ({
      verify: plain.createVerifier(secrets).verify,
      precheck: (head) => {
        heads.push(head);
        return answer();
      },
    }),
  };
}

beforeEach(async () => {
  [heads, notices, store] = [[], [], createMemoryStore()];
  answer = () => STALE;
  receiver = new Receiver({
    config: parseConfig({ sources: { plain: { provider: provider(), options: {} } } }),
    secrets: { plain: [SECRET] },
    stores: [store],
    notify: (notice) => notices.push(notice),
  });
  const adapter = createNodeAdapter(receiver);
  ({ server, port, close } = await serve((request, response) => {
    adapter.handle(request, response, "plain");
  }));
});
afterEach(async () => {
  await close();
  await receiver.close();
});

test("a body that comes with its head is verified at once, whatever its head alone says", async () => {
  const over: string[] = [];
  server.prependListener("request", (request: IncomingMessage) => {
    request.once("close", () => over.push(`closed, ${request.readableEnded ? "read" : "unread"}`));
  });
  const sender = await connect(port);
  sender.write(rawRequest({ id: "evt_1" }) + rawRequest({ id: "evt_2" }));
  expect(await sender.statuses(2)).toEqual([202, 202]);
  sender.write(rawRequest({ id: "evt_3" }));
  expect(await sender.statuses(3)).toEqual([202, 202, 202]);
  expect(heads).toEqual([]);
  expect(store.events.size).toBe(3);
  expect(receiver.budget.taken).toBe(0);
  expect(over).toEqual(["closed, read", "closed, read", "closed, read"]);
  sender.end();
});

test("a head that comes without its body is held against the provider, and refused unread", async () => {
  const sender = await connect(port);
  const [head = "", body = ""] = rawRequest({ id: "evt_1" }).split("\r\n\r\n");
  sender.write(`${head}\r\n\r\n`);
  expect(await sender.statuses(1)).toEqual([401]);
  expect(heads).toMatchObject([{ method: "POST", url: "/webhooks/plain" }]);
  expect(notices).toMatchObject([
    { source: "plain", code: "invalid_timestamp", admission: "bad_head" },
  ]);
  // A small body is let through, and its connection goes on.
  answer = () => undefined;
  sender.write(body + rawRequest({ id: "evt_2" }));
  expect(await sender.statuses(2)).toEqual([401, 202]);
  expect([...store.events.keys()]).toEqual(["plain/evt_2"]);
  sender.end();
});

test("a body that comes later, in pieces, and in chunks is taken when the head may be verified", async () => {
  answer = () => undefined;
  const { body, headers } = signed({ id: "evt_1", filler: "x".repeat(3_000) });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /webhooks/plain HTTP/1.1\r\nhost: x\r\n${lines.join("")}`;
  const sender = await connect(port);
  sender.write(`${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 100)}`);
  await new Promise((resolve) => setImmediate(resolve));
  sender.write(body.slice(100));
  expect(await sender.statuses(1)).toEqual([202]);
  const half = Math.floor(body.length / 2);
  const chunks = [body.slice(0, half), body.slice(half), ""].map(
    (piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`,
  );
  sender.write(`${head}transfer-encoding: chunked\r\n\r\n${chunks.join("")}`);
  expect(await sender.statuses(2)).toEqual([202, 200]);
  expect(receiver.budget.taken).toBe(0);
  sender.end();
});

test("a check of the head that throws is reported, and the verification decides", async () => {
  answer = () => {
    throw new TypeError("a provider's own fault");
  };
  const sender = await connect(port);
  const [head = "", body = ""] = rawRequest({ id: "evt_1" }).split("\r\n\r\n");
  sender.write(`${head}\r\n\r\n`);
  while (heads.length === 0) await new Promise((resolve) => setImmediate(resolve));
  sender.write(body);
  expect(await sender.statuses(1)).toEqual([202]);
  expect(notices[0]).toMatchObject({ kind: "unexpected", source: "plain" });
  sender.end();
});

test("a fetch request is refused by its head, and its body is left alone", async () => {
  const request = new Request("https://hooks.example.com/webhooks/plain?a=b", {
    method: "POST",
    ...signed({ id: "evt_1" }),
  });
  const response = await createFetchAdapter(receiver)(request, "plain");
  expect(response.status).toBe(401);
  expect(heads).toMatchObject([{ method: "POST", url: "/webhooks/plain?a=b" }]);
  expect(request.bodyUsed).toBe(false);
});
