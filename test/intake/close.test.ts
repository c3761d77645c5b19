import { beforeEach, expect, onTestFinished, test } from "vitest";
import { until } from "../support/until.ts";
import { connect, type RawConnection } from "./raw-connection.ts";
import { rawRequest, startTestIngress, type TestIngress } from "./test-ingress.ts";

let ingress: TestIngress;
let sender: RawConnection;
let release: () => void;

beforeEach(async () => {
  ingress = await startTestIngress({ answerTimeoutMs: 5_000, shutdownTimeoutMs: 1_000 });
  const released = new Promise<void>((resolve) => (release = resolve));
  onTestFinished(() => release());
  ingress.store.before = () => released;
  [sender] = (await ingress.open(1)) as [RawConnection];
});

const untilInFlight = (bytes: number) =>
  until(async () => (await ingress.metric("millrace_ingress_bytes_in_flight")) >= bytes);

test("a closing ingress answers everything that it has read, and ends", async () => {
  const senders = await ingress.open(60);
  senders.forEach((each, index) => each.write(rawRequest({ id: `evt_${100 + index}` })));
  await untilInFlight(senders.length * Buffer.byteLength('{"id":"evt_100"}'));
  const closed = ingress.close();
  await expect(connect(ingress.port)).rejects.toThrow("ECONNREFUSED");
  release();
  await closed;
  for (const each of senders) {
    expect(await each.statuses(1)).toEqual([202]);
    expect(each.received()).toMatch(/connection: close/i);
  }
  expect(ingress.store.events.size).toBe(60);
});

test("a closing ingress reads on what it has begun to read", async () => {
  const request = rawRequest({ id: "evt_half" });
  sender.write(request.slice(0, -5));
  await untilInFlight(1);
  const closed = ingress.close();
  release();
  sender.write(request.slice(-5));
  expect(await sender.statuses(1)).toEqual([202]);
  await closed;
});

test("a closing ingress refuses new requests on connections that it still serves", async () => {
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
  sender.write("POST /webhooks/large HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{");
  await untilInFlight(1);
  const startedMs = performance.now();
  await ingress.close();
  // Its body would be waited for much longer.
  expect(performance.now() - startedMs).toBeLessThan(9_000);
  await sender.ended();
  expect(ingress.store.calls).toEqual([]);
});
