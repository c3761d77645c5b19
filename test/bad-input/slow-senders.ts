import { expect } from "vitest";
import { until } from "../support/until.ts";
import type { LineTests } from "./lines.ts";
import { plain, stripe, stripeBody } from "./senders.ts";
import type { Target } from "./target.ts";
import { toBytes } from "./wire.ts";

const HEAD = "POST /webhooks/standard HTTP/1.1\r\nhost: localhost\r\n";
const signedHead = () =>
  `${HEAD}webhook-id: slow_1\r\nwebhook-timestamp: ${Math.floor(Date.now() / 1_000)}\r\n` +
  `webhook-signature: v1,${Buffer.alloc(32).toString("base64")}\r\n`;
const IN_FLIGHT = "millrace_ingress_bytes_in_flight";

export function slowSenders(tests: LineTests, target: () => Target): void {
  async function trickle(beginning: string, piece: string, everyMs: number): Promise<string> {
    const connection = await target().open();
    connection.write(beginning);
    const timer = setInterval(() => connection.write(piece), everyMs);
    try {
      await connection.ended();
    } finally {
      clearInterval(timer);
    }
    return connection.received();
  }

  tests.proves(28, "ten announced gigabytes are answered 413 at once, and the end", async () => {
    const connection = await target().open();
    connection.write(`${HEAD}content-length: 10000000000\r\n\r\nabc`);
    // Not a byte more was sent, so it was not waited for.
    expect(await connection.statuses(1)).toEqual([413]);
    await connection.ended();
    expect(connection.received()).toMatch(/connection: close[^]*"body_too_large"/i);
  });

  tests.proves(29, "a chunked body without end is cut at the limit", async () => {
    const chunk = `1000\r\n${"x".repeat(4_096)}\r\n`;
    const answer = await trickle(`${signedHead()}transfer-encoding: chunked\r\n\r\n`, chunk, 2);
    expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*"body_too_large"/);
  });

  tests.proves(29, "a body that trickles in is answered 408, and the end", async () => {
    const answer = await trickle(`${signedHead()}content-length: 60000\r\n\r\n`, "x", 100);
    expect(answer).toMatch(/^HTTP\/1\.1 408 [^]*"body_timeout"/);
  });

  tests.proves(29, "a body that is not signed is answered 401 before it comes", async () => {
    const connection = await target().open();
    connection.write(`${HEAD}content-length: 60000\r\n\r\n`);
    expect(await connection.statuses(1)).toEqual([401]);
    expect(connection.received()).toContain('"invalid_signature"');
  });

  tests.proves(29, "headers that trickle in are answered 408, and the end", async () => {
    expect(await trickle(HEAD, "x: y\r\n", 100)).toMatch(/^HTTP\/1\.1 408 [^]*"request_timeout"/);
  });

  tests.proves(29, "a connection that says nothing is ended", async () => {
    const connection = await target().open();
    await connection.ended();
    expect(connection.received()).not.toContain("200");
  });

  tests.proves(30, "a sender that goes away in the middle of a body leaves nothing", async () => {
    const whole = toBytes(stripe(stripeBody("aborted_1")));
    const connection = await target().open();
    connection.write(whole.subarray(0, -5));
    await until(async () => (await target().metric(IN_FLIGHT)) > 0);
    connection.abort();
    await until(async () => (await target().metric(IN_FLIGHT)) === 0);
    expect(await target().stateOf("stripe", "aborted_1")).toBeUndefined();
  });

  tests.proves(30, "a sender that closes its side within a body leaves nothing", async () => {
    const connection = await target().open();
    connection.write(toBytes(stripe(stripeBody("aborted_2"))).subarray(0, -5));
    await until(async () => (await target().metric(IN_FLIGHT)) > 0);
    connection.end();
    await connection.ended();
    await until(async () => (await target().metric(IN_FLIGHT)) === 0);
  });

  tests.proves(56, "what follows a 413 on its connection is taken for no request", async () => {
    const hidden = toBytes(plain("a", '{"id":"smuggled_1","type":"test.effect"}'));
    const connection = await target().open();
    connection.write(`${HEAD}content-length: 70000\r\n\r\nabc`);
    connection.write(hidden);
    expect(await connection.statuses(1)).toEqual([413]);
    await connection.ended();
    connection.write(hidden);
    await target().stillWorks();
    expect(connection.received().match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(await target().stateOf("a", "smuggled_1")).toBeUndefined();
  });

  tests.proves(56, "a body of the limit and one more ends its connection", async () => {
    const connection = await target().open();
    connection.write(`${HEAD}content-length: 65537\r\n\r\n${"x".repeat(65_537)}`);
    expect(await connection.statuses(1)).toEqual([413]);
    await connection.ended();
    // A reset would have overtaken the answer.
    expect(connection.error).toBeUndefined();
  });
}
