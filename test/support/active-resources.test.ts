import { once } from "node:events";
import { createConnection, createServer, type AddressInfo, type Server } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { activeResources, addedSince, untilReleased } from "./active-resources.ts";
import { until } from "./until.ts";

const untilQuiet = () =>
  until(() => {
    const active = activeResources();
    return active.counts.has("Timeout") ? undefined : active;
  });

test("a server and the connections to it are named by their ports until they are closed", async () => {
  const before = await untilQuiet();
  const server = await listening();
  const { port } = server.address() as AddressInfo;
  expect(addedSince(before)).toContain("1 TCPServerWrap");
  expect(addedSince(before)).toContain(`server on port ${port}`);
  const client = createConnection({ port, host: "127.0.0.1" });
  await Promise.all([once(client, "connect"), once(server, "connection")]);
  expect(addedSince(before)).toContain("2 TCPSocketWrap");
  expect(addedSince(before)).toContain(`to port ${port}`);
  client.destroy();
  server.close();
  await untilReleased(before);
});

test("an interval and a timer that nothing clears are counted", async () => {
  const before = await untilQuiet();
  const timers = [setInterval(() => {}, 60_000), setTimeout(() => {}, 60_000)];
  onTestFinished(() => timers.forEach((timer) => clearTimeout(timer)));
  await expect(untilReleased(before, { withinMs: 300 })).rejects.toThrow(
    "Cannot end the file: it leaves 2 Timeout",
  );
});

async function listening(): Promise<Server> {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return server;
}
