import { once } from "node:events";
import { createConnection, createServer, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { activeResources, addedSince, untilReleased } from "./active-resources.ts";
import { startTcpProxy } from "./tcp-proxy.ts";

test("an answer that came while the way was frozen keeps no socket when its client has gone", async () => {
  const server = createServer((socket) => socket.resume().write("an answer"));
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const before = activeResources();
  const proxy = await startTcpProxy(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`);
  proxy.freeze();
  const client = createConnection({ port: proxy.port, host: "127.0.0.1" });
  await once(client, "connect");
  // A frozen socket still learns that its peer has ended, unless it has something for us first.
  client.end();
  await once(client.resume(), "close");
  expect(addedSince(before)).toContain("paused");
  await proxy.close();
  await untilReleased(before);
});
