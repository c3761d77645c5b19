import { once } from "node:events";
import { createConnection, createServer, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { activeResources, addedSince, untilReleased } from "./active-resources.ts";
import { until } from "./until.ts";

test("servers, connections and timers are named until they are closed", async () => {
  // vitest has a timer of its own for a moment after each test.
  const before = await until(() => {
    const active = activeResources();
    return active.counts.has("Timeout") ? undefined : active;
  });
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  expect(addedSince(before)).toContain(`1 TCPServerWrap (server on port ${port})`);
  const client = createConnection({ port, host: "127.0.0.1" });
  await Promise.all([once(client, "connect"), once(server, "connection")]);
  expect(addedSince(before)).toContain("2 TCPSocketWrap");
  expect(addedSince(before)).toContain(`to port ${port}`);
  client.destroy();
  server.close();
  await untilReleased(before);

  const timers = [setInterval(() => {}, 60_000), setTimeout(() => {}, 60_000)];
  onTestFinished(() => timers.forEach((timer) => clearTimeout(timer)));
  const leaving = untilReleased(before, { withinMs: 300 });
  await expect(leaving).rejects.toThrow("Cannot end the file: it leaves 2 Timeout");
});
