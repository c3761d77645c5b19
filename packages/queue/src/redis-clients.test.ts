import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import type { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { createRedisClients } from "./redis-clients.ts";

const INFO = "redis_version:7.2.0\r\n";
const ANSWERS: Readonly<Record<string, string>> = {
  client: "+OK\r\n",
  info: `$${INFO.length}\r\n${INFO}\r\n`,
};
const FIRST_WORDS = /\*\d+\r\n\$\d+\r\n(\w+)/g;

test("the timeout of a connection that breaks does not end the next one", async () => {
  const server = await startSilentRedis();
  const { producer, close } = createRedisClients({
    url: `redis://127.0.0.1:${server.port}`,
    connectionName: "test",
    commandTimeoutMs: 200,
    onError: () => {},
  });
  onTestFinished(close);
  await nextReady(producer);
  const unanswered = producer.get("key");
  expect(producer["socketTimeoutTimer"]).toBeDefined();
  server.breakConnections();
  await expect(unanswered).rejects.toThrow("Command timed out");
  if (producer.status !== "ready") await nextReady(producer);
  expect(producer["socketTimeoutTimer"]).toBeUndefined();
});

test("a client that is cut off while it connects, as Sentinel's news do, connects again", async () => {
  const server = await startSilentRedis();
  const { producer, close } = createRedisClients({
    url: `redis://127.0.0.1:${server.port}`,
    connectionName: "test",
    commandTimeoutMs: 200,
    onError: () => {},
  });
  onTestFinished(close);
  await nextReady(producer);
  // ioredis does this when it learns of another primary.
  producer.once("connecting", () => producer["connector"].disconnect());
  const ended = new Promise<void>((resolve) => producer.once("end", () => resolve()));
  server.breakConnections();
  await ended;
  await nextReady(producer);
  const again = new Promise<void>((resolve) => producer.once("end", () => resolve()));
  await close();
  await again;
  expect(producer.status).toBe("end");
});

const nextReady = (client: Redis) =>
  new Promise<void>((resolve) => client.once("ready", () => resolve()));

/** Answers what a client asks on a new connection, and nothing else. */
async function startSilentRedis(): Promise<{ port: number; breakConnections: () => void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("data", (data) => {
      for (const [, word = ""] of data.toString().matchAll(FIRST_WORDS)) {
        socket.write(ANSWERS[word.toLowerCase()] ?? "");
      }
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const breakConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    breakConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, breakConnections };
}
