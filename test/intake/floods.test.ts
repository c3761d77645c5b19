import { afterEach, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { connect, type RawConnection } from "./raw-connection.ts";
import { rawRequest, startTestIngress, type TestIngress } from "./test-ingress.ts";

describe("what many strangers send at once", () => {
  const connections: RawConnection[] = [];
  let ingress: TestIngress | undefined;

  afterEach(async () => {
    for (const each of connections.splice(0)) each.abort();
    await ingress?.close();
  });

  async function openMany(count: number, port: number): Promise<RawConnection[]> {
    const made = await Promise.all(Array.from({ length: count }, () => connect(port)));
    connections.push(...made);
    return made;
  }

  const LARGE = "POST /webhooks/large HTTP/1.1\r\nhost: localhost\r\n";

  test("200 slow bodies hold no more than their source's half; older ones give way, answered 503", async () => {
    const inFlightBytesMax = 1_000_000;
    ingress = await startTestIngress({ inFlightBytesMax, bodyTimeoutMs: 20_000 });
    const senders = await openMany(200, ingress.port);
    for (const sender of senders) {
      sender.write(`${LARGE}transfer-encoding: chunked\r\n\r\n4e20\r\n${"x".repeat(20_000)}\r\n`);
    }
    // 25 bodies of 20,000 bytes fit, or fewer where one came in two pieces and its buffer grew.
    await until(() => senders.filter((sender) => sender.isFinished).length >= 175);
    const held = await ingress.metric("millrace_ingress_bytes_in_flight");
    expect(held).toBeLessThanOrEqual(inFlightBytesMax / 2);
    expect(held).toBeGreaterThan(0);
    const refused = senders.filter((sender) => sender.isFinished);
    for (const sender of refused) expect(sender.received()).toMatch(/503 .*retry-after: [1-5]/is);
    for (const sender of senders) sender.abort();
    await until(async () => (await ingress?.metric("millrace_ingress_bytes_in_flight")) === 0);
  });

  test("senders that announce much and send nothing take no bytes of the budget from the others", async () => {
    ingress = await startTestIngress({ inFlightBytesMax: 1_048_576, bodyTimeoutMs: 20_000 });
    const idle = await openMany(50, ingress.port);
    for (const each of idle) each.write(`${LARGE}content-length: 1000000\r\n\r\nx`);
    await until(async () => (await ingress?.metric("millrace_ingress_bytes_in_flight")) === 50);
    const [sender] = await openMany(1, ingress.port);
    sender?.write(rawRequest({ id: "small" }));
    expect(await sender?.statuses(1)).toEqual([202]);
  });

  test("a body that cannot fit beside the others is refused before it is read", async () => {
    ingress = await startTestIngress({ inFlightBytesMax: 100_000, bodyTimeoutMs: 20_000 });
    const [holder, late] = await openMany(2, ingress.port);
    holder?.write(`${LARGE}content-length: 90000\r\n\r\n${"x".repeat(50_000)}`);
    await until(async () => (await ingress?.metric("millrace_ingress_bytes_in_flight")) === 50_000);
    late?.write(`${LARGE}content-length: 50001\r\n\r\n`);
    expect(await late?.statuses(1)).toEqual([503]);
    expect(late?.received()).toContain('"overloaded"');
  });

  test("connections beyond connectionsMax are closed unheard, and counted", async () => {
    ingress = await startTestIngress({ connectionsMax: 5, bodyTimeoutMs: 20_000 });
    const senders = await openMany(8, ingress.port);
    await until(() => senders.filter((sender) => sender.isFinished).length === 3);
    expect(await ingress.metric("millrace_ingress_connections_dropped_total")).toBe(3);
    const served = senders.find((sender) => !sender.isFinished);
    served?.write(rawRequest({ id: "heard" }));
    expect(await served?.statuses(1)).toEqual([202]);
  });
});
