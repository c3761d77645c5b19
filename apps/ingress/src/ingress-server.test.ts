import { once } from "node:events";
import { connect, type AddressInfo, type Socket } from "node:net";
import { parseConfig } from "@millrace/core";
import { expect, test } from "vitest";
import { createIngressServer, hotRoute } from "./ingress-server.ts";

test.each([
  ["/webhooks/stripe", "stripe"],
  ["/webhooks/stripe?token=a/b?c", "stripe"],
  ["/webhooks/", ""],
  ["/webhooks/stripe/", "stripe/"],
  ["/webhooks/%73tripe", "%73tripe"],
  ["/webhooks", undefined],
  ["/webhooks?x=/webhooks/stripe", undefined],
  ["/Webhooks/stripe", undefined],
  ["//webhooks/stripe", undefined],
  ["/healthz", undefined],
  ["*", undefined],
])("%s names %s", (url, source) => {
  expect(hotRoute(url)).toBe(source);
});

test("idle connections give way while more than half of connectionsMax are open", async () => {
  let closed = 0;
  const acme = { provider: { createVerifier: () => undefined } as never };
  const server = createIngressServer({
    adapter: {
      handle() {},
      reject() {},
      isAnswering: () => false,
      endAfterAnswer: () => false,
      close: async () => {},
    },
    app: (_request, response) => response.end("served"),
    limits: { ...parseConfig({ sources: { acme } }).ingress, connectionsMax: 4 },
    onDrop: () => {},
    onIdleClosed: () => (closed += 1),
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const open = async (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  const [idle, busy] = [await open(), await open()];
  for (const socket of [idle, busy]) {
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(socket, "data");
  }
  busy.write("POST /webhooks/x HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n");
  await once(server, "request");
  expect([idle.destroyed, closed]).toEqual([false, 0]);
  const third = await open();
  await once(idle.resume(), "close");
  third.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await once(third, "data");
  expect([busy.destroyed, closed]).toEqual([false, 1]);
  server.close();
  server.closeAllConnections();
});

test("above connectionsMax the oldest connection is closed", async () => {
  let dropped = 0;
  const acme = { provider: { createVerifier: () => undefined } as never };
  const server = createIngressServer({
    adapter: {
      handle() {},
      reject() {},
      isAnswering: () => false,
      endAfterAnswer: () => false,
      close: async () => {},
    },
    app: (_request, response) => response.end("served"),
    limits: { ...parseConfig({ sources: { acme } }).ingress, connectionsMax: 2 },
    onDrop: () => (dropped += 1),
    onIdleClosed: () => {},
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const open = async (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  const ask = async (socket: Socket) => {
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    const [answer] = await Promise.race([once(socket, "data"), once(socket, "close")]);
    return String(answer).endsWith("served");
  };
  const [first, second] = [await open(), await open()];
  const third = await open();
  await once(first.resume(), "close");
  expect([dropped, server.maxConnections]).toEqual([1, undefined]);
  expect(await ask(second)).toBe(true);
  expect(await ask(third)).toBe(true);
  server.close();
  server.closeAllConnections();
});
