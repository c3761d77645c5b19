import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { rawRequest, startTestIngress, type TestIngress } from "./test-ingress.ts";

// What a stranger sends over a socket, besides the lines of test/bad-input.

const IN_FLIGHT = "millrace_ingress_bytes_in_flight";
const LARGE = "POST /webhooks/large HTTP/1.1\r\nhost: localhost\r\n";

async function start(limits: Parameters<typeof startTestIngress>[0], count = 1) {
  const ingress = await startTestIngress(limits);
  const connections = await ingress.open(count);
  const [connection] = connections;
  if (connection === undefined) throw new Error("Cannot connect to the ingress");
  return { ingress, connections, connection };
}

async function stillWorks(ingress: TestIngress): Promise<void> {
  const [other] = await ingress.open(1);
  other?.write(rawRequest({ id: `alive_${ingress.store.events.size}` }));
  expect(await other?.statuses(1)).toEqual([202]);
}

test("a sender that is still sending when it is refused can read why", async () => {
  const { ingress, connection } = await start({});
  const piece = "x".repeat(50_000);
  const head = "POST /webhooks/plain HTTP/1.1\r\nhost: localhost\r\n";
  connection.write(`${head}content-length: 500000\r\n\r\n${piece}`);
  expect(await connection.statuses(1)).toEqual([413]);
  await connection.ended();
  for (let sent = 1; sent < 10; sent += 1) {
    connection.write(piece);
    // Piece by piece, as from a network.
    await stillWorks(ingress);
  }
  // A reset would overtake the answer, and the sender would report a broken connection.
  expect(connection.error).toBeUndefined();
});

test.each([
  ["one that is held", {}, 0],
  ["two that came together", { batchMax: 1 }, 1],
])("what is no request, behind %s, is not answered in its place", async (_, limits, answered) => {
  const { ingress, connection } = await start(limits);
  let goOn = () => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const { calls } = ingress.store;
  ingress.store.before = () => (calls.length > answered ? held : Promise.resolve());
  const ids = Array.from({ length: answered + 1 }, (_each, index) => `evt_${index}`);
  connection.write(ids.map((id) => rawRequest({ id })).join(""));
  await until(() => calls.length === ids.length);
  await connection.statuses(answered);
  connection.write("\0 this is no request\r\n\r\n");
  // Behind it, so that the ingress has read it while the other is held.
  await fetch(`http://127.0.0.1:${ingress.port}/healthz`);
  goOn();
  await connection.ended();
  expect(ingress.store.events.size).toBe(ids.length);
  expect(connection.received().match(/HTTP\/1\.1 \d+/g)).toEqual(ids.map(() => "HTTP/1.1 202"));
  await stillWorks(ingress);
});

test.each([
  ["/webhooks/plain;x=y", 401, "invalid_signature"],
  ["http://localhost/webhooks/plain", 404, "not_found"],
])("%s is answered %d in JSON", async (path, status, code) => {
  const { ingress, connection } = await start({});
  connection.write(rawRequest({ id: "lost" }).replace("/webhooks/plain", path));
  expect(await connection.statuses(1)).toEqual([status]);
  expect(connection.received()).toContain(`"${code}"`);
  expect(connection.received()).not.toMatch(/x-powered-by|etag/i);
  expect(ingress.store.calls).toEqual([]);
});

test("senders that announce much and send nothing take no bytes of the budget from the others", async () => {
  const limits = { inFlightBytesMax: 1_048_576, bodyTimeoutMs: 20_000 };
  const { ingress, connections } = await start(limits, 50);
  for (const each of connections) each.write(`${LARGE}content-length: 1000000\r\n\r\nx`);
  await until(async () => (await ingress.metric(IN_FLIGHT)) === 50);
  await stillWorks(ingress);
});

test("a body that cannot fit beside the others is refused before it is read", async () => {
  const limits = { inFlightBytesMax: 100_000, bodyTimeoutMs: 20_000 };
  const { ingress, connections } = await start(limits, 2);
  const [holder, late] = connections;
  holder?.write(`${LARGE}content-length: 90000\r\n\r\n${"x".repeat(50_000)}`);
  await until(async () => (await ingress.metric(IN_FLIGHT)) === 50_000);
  late?.write(`${LARGE}content-length: 50001\r\n\r\n`);
  expect(await late?.statuses(1)).toEqual([503]);
  expect(late?.received()).toContain('"overloaded"');
});
