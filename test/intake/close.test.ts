import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { connect, type RawConnection } from "./raw-connection.ts";
import { rawRequest, startTestIngress, type TestIngress } from "./test-ingress.ts";

const HEAD = "POST /webhooks/large HTTP/1.1\r\nhost: localhost\r\n";

let ingress: TestIngress;
let connections: RawConnection[];
let release: () => void;

beforeEach(async () => {
  ingress = await startTestIngress({ answerTimeoutMs: 5_000, shutdownTimeoutMs: 1_000 });
  connections = [];
  const released = new Promise<void>((resolve) => (release = resolve));
  ingress.store.before = () => released;
});
afterEach(async () => {
  release();
  for (const each of connections) each.abort();
  await ingress.close();
});

async function open(): Promise<RawConnection> {
  const made = await connect(ingress.port);
  connections.push(made);
  return made;
}

test("a closing ingress answers everything that it has read, and ends", async () => {
  const senders = await Promise.all(Array.from({ length: 60 }, open));
  senders.forEach((sender, index) => sender.write(rawRequest({ id: `evt_${100 + index}` })));
  const bytes = senders.length * Buffer.byteLength('{"id":"evt_100"}');
  await until(async () => (await ingress.metric("millrace_ingress_bytes_in_flight")) >= bytes);
  const closed = ingress.close();
  await expect(connect(ingress.port)).rejects.toThrow("ECONNREFUSED");
  release();
  await closed;
  for (const sender of senders) {
    expect(await sender.statuses(1)).toEqual([202]);
    expect(sender.received()).toMatch(/connection: close/i);
  }
  expect(ingress.store.events.size).toBe(60);
});

test("a closing ingress reads on what it has begun to read", async () => {
  const sender = await open();
  const request = rawRequest({ id: "evt_half" });
  sender.write(request.slice(0, -5));
  await until(async () => (await ingress.metric("millrace_ingress_bytes_in_flight")) > 0);
  const closed = ingress.close();
  release();
  sender.write(request.slice(-5));
  expect(await sender.statuses(1)).toEqual([202]);
  await closed;
});

test("a closing ingress refuses new requests on connections that it still serves", async () => {
  const sender = await open();
  sender.write(rawRequest({ id: "evt_held" }));
  await until(() => ingress.store.calls.length === 1);
  const closed = ingress.close();
  sender.write(rawRequest({ id: "evt_late" }));
  await until(() => ingress.notices.length === 1);
  expect(ingress.notices).toMatchObject([{ outcome: "rejected", code: "shutting_down" }]);
  release();
  // The answer to the first ends the connection; the sender sends the second again elsewhere.
  expect(await sender.statuses(1)).toEqual([202]);
  await closed;
  expect(ingress.store.events.has("plain/evt_late")).toBe(false);
});

test("a sender that never finishes holds the end up no longer than shutdownTimeoutMs", async () => {
  const sender = await open();
  sender.write(`${HEAD}content-length: 1000\r\n\r\n{`);
  await until(async () => (await ingress.metric("millrace_ingress_bytes_in_flight")) > 0);
  const startedMs = performance.now();
  await ingress.close();
  // Its body would be waited for much longer.
  expect(performance.now() - startedMs).toBeLessThan(9_000);
  await sender.ended();
  expect(ingress.store.calls).toEqual([]);
});
