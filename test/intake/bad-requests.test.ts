import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { connect, type RawConnection } from "./raw-connection.ts";
import { rawRequest, startTestIngress, type TestIngress } from "./test-ingress.ts";

// Longer than a busy machine lets a connection wait for its first byte.
const BODY_TIMEOUT_MS = 1_500;
const HEAD = "POST /webhooks/plain HTTP/1.1\r\nhost: localhost\r\n";

describe("what a stranger sends over a socket", () => {
  let ingress: TestIngress;
  let connection: RawConnection;
  const opened: RawConnection[] = [];

  beforeEach(async () => {
    ingress = await startTestIngress({ bodyTimeoutMs: BODY_TIMEOUT_MS });
    connection = await open();
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) each.abort();
    await ingress.close();
  });

  async function open(): Promise<RawConnection> {
    const made = await connect(ingress.port);
    opened.push(made);
    return made;
  }

  async function stillWorks(): Promise<void> {
    const other = await open();
    const id = `alive_${ingress.store.events.size}`;
    other.write(rawRequest({ id }));
    expect(await other.statuses(1)).toEqual([202]);
  }

  test("ten announced gigabytes and three bytes: 413 at once, and the end", async () => {
    connection.write(`${HEAD}content-length: 10000000000\r\n\r\nabc`);
    // Had it waited for more of the body, it would be 408.
    expect(await connection.statuses(1)).toEqual([413]);
    await connection.ended();
    expect(connection.received()).toMatch(/connection: close/i);
    expect(connection.received()).toContain('"body_too_large"');
    await stillWorks();
  });

  test("a sender that is still sending when it is refused can read why", async () => {
    const piece = "x".repeat(50_000);
    connection.write(`${HEAD}content-length: 500000\r\n\r\n${piece}`);
    expect(await connection.statuses(1)).toEqual([413]);
    await connection.ended();
    for (let sent = 1; sent < 10; sent += 1) {
      connection.write(piece);
      // Piece by piece, as from a network.
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    // A reset would overtake the answer, and the sender would report a broken connection.
    expect(connection.error).toBeUndefined();
    await stillWorks();
  });

  test("a chunked body without an end is cut at the limit", async () => {
    connection.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`);
    const chunk = `400\r\n${"x".repeat(1_024)}\r\n`;
    const timer = setInterval(() => connection.write(chunk), 5);
    try {
      expect(await connection.statuses(1)).toEqual([413]);
      await connection.ended();
    } finally {
      clearInterval(timer);
    }
    await until(async () => (await ingress.metric("millrace_ingress_bytes_in_flight")) === 0);
    await stillWorks();
  });

  test("what follows a refused body on its connection is not taken for a request", async () => {
    connection.write(`${HEAD}content-length: 5000\r\n\r\nabc${rawRequest({ id: "smuggled" })}`);
    expect(await connection.statuses(1)).toEqual([413]);
    await connection.ended();
    connection.write(rawRequest({ id: "smuggled" }));
    await stillWorks();
    expect(ingress.store.events.has("plain/smuggled")).toBe(false);
    expect(connection.received().match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test("a body that trickles in is answered 408, and the end", async () => {
    connection.write(`${HEAD}content-length: 1000\r\n\r\n`);
    const timer = setInterval(() => connection.write("x"), 50);
    try {
      expect(await connection.statuses(1)).toEqual([408]);
      expect(connection.received()).toContain('"body_timeout"');
      await connection.ended();
    } finally {
      clearInterval(timer);
    }
    await stillWorks();
  });

  test("headers that trickle in are answered 408, and the end", async () => {
    connection.write(HEAD);
    const timer = setInterval(() => connection.write("x: y\r\n"), 50);
    try {
      expect(await connection.statuses(1)).toEqual([408]);
      await connection.ended();
    } finally {
      clearInterval(timer);
    }
    await stillWorks();
  });

  test("a connection that says nothing is ended", async () => {
    await connection.ended();
    expect(connection.received()).not.toContain("200");
    await stillWorks();
  });

  test("a sender that goes away in the middle of a body leaves nothing behind", async () => {
    connection.write(`${HEAD}content-length: 1000\r\n\r\n{"id":"gone"`);
    await until(async () => (await ingress.metric("millrace_ingress_bytes_in_flight")) > 0);
    connection.abort();
    await until(async () => (await ingress.metric("millrace_ingress_bytes_in_flight")) === 0);
    expect(ingress.notices).toMatchObject([{ outcome: "rejected", code: "body_incomplete" }]);
    expect(ingress.store.calls).toEqual([]);
    await stillWorks();
  });

  test.each([
    [
      "content-length and transfer-encoding together",
      "content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
      400,
    ],
    ["two lengths that differ", "content-length: 2\r\ncontent-length: 3\r\n\r\n{}x", 400],
    ["a negative length", "content-length: -1\r\n\r\n", 400],
    ["a length that is no number", "content-length: 0x10\r\n\r\n{}", 400],
    ["a NUL in a header", "x: a\0b\r\ncontent-length: 2\r\n\r\n{}", 400],
    ["a chunk size that is no number", "transfer-encoding: chunked\r\n\r\nzz\r\n", 400],
    ["an expectation that nobody meets", "expect: the-worst\r\ncontent-length: 2\r\n\r\n{}", 417],
    ["100 headers of 1 kB", `${`x-filler: ${"x".repeat(1_000)}\r\n`.repeat(100)}\r\n`, 431],
  ])("%s is refused by its status", async (_title, rest, status) => {
    connection.write(`${HEAD}${rest}`);
    expect(await connection.statuses(1)).toEqual([status]);
    await stillWorks();
  });

  test("what is no HTTP at all is answered 400 in JSON, and the end", async () => {
    connection.write("\x16\x03\x01 is that TLS?\r\n\r\n");
    expect(await connection.statuses(1)).toEqual([400]);
    await connection.ended();
    const body = connection.received().split("\r\n\r\n")[1] ?? "";
    expect(JSON.parse(body)).toMatchObject({ error: { code: "malformed_request" } });
    await stillWorks();
  });

  test("HTTP/1.0 without a length is an empty body", async () => {
    connection.write("POST /webhooks/plain HTTP/1.0\r\n\r\n");
    expect(await connection.statuses(1)).toEqual([400]);
    expect(connection.received()).toContain('"invalid_body"');
  });

  test("a sender that asks before it sends is told to go on, or why not", async () => {
    const [head, body] = rawRequest({ id: "asked" }, { headers: { expect: "100-continue" } }).split(
      "\r\n\r\n",
    );
    connection.write(`${head}\r\n\r\n`);
    expect(await connection.statuses(1)).toEqual([100]);
    connection.write(body ?? "");
    expect(await connection.statuses(2)).toEqual([100, 202]);
    const refused = await open();
    refused.write(`${HEAD}expect: 100-continue\r\ncontent-length: 5000\r\n\r\n`);
    expect(await refused.statuses(1)).toContain(413);
  });

  test("requests that are sent in one go are answered in their order", async () => {
    connection.write(
      rawRequest({ id: "one" }) + rawRequest({ id: "" }) + rawRequest({ id: "one" }),
    );
    expect(await connection.statuses(3)).toEqual([202, 400, 200]);
    expect(connection.isFinished).toBe(false);
  });

  test("rubbish after a request is not answered in that request's stead", async () => {
    ingress.store.before = () => new Promise(() => {});
    connection.write(rawRequest({ id: "held" }));
    await until(() => ingress.store.calls.length === 1);
    connection.write("rubbish\r\n\r\n");
    await connection.ended();
    expect(connection.received()).toBe("");
    ingress.store.before = undefined;
    await stillWorks();
  });

  test("a HEAD is answered 405 without a body", async () => {
    connection.write("HEAD /webhooks/plain HTTP/1.1\r\nhost: x\r\n\r\n");
    expect(await connection.statuses(1)).toEqual([405]);
    connection.write(rawRequest({ id: "after_head" }));
    expect(await connection.statuses(2)).toEqual([405, 202]);
    expect(connection.received()).not.toContain("method_not_allowed");
  });

  test.each([
    ["/webhooks/nobody", 401, "invalid_signature"],
    ["/webhooks/__proto__", 401, "invalid_signature"],
    ["/webhooks/constructor", 401, "invalid_signature"],
    ["/webhooks/", 401, "invalid_signature"],
    ["/webhooks/plain/", 401, "invalid_signature"],
    ["/webhooks/plain/more", 401, "invalid_signature"],
    ["/webhooks/Plain", 401, "invalid_signature"],
    ["/webhooks/%70lain", 401, "invalid_signature"],
    ["/webhooks/plain%2f", 401, "invalid_signature"],
    ["/webhooks/%zz", 401, "invalid_signature"],
    ["/webhooks/plain;x=y", 401, "invalid_signature"],
    ["/webhooks", 404, "not_found"],
    ["/Webhooks/plain", 404, "not_found"],
    ["//webhooks/plain", 404, "not_found"],
    ["/%zz", 404, "not_found"],
    ["http://localhost/webhooks/plain", 404, "not_found"],
  ])("%s is answered %d in JSON", async (path, status, code) => {
    connection.write(rawRequest({ id: "lost" }).replace("/webhooks/plain", path));
    expect(await connection.statuses(1)).toEqual([status]);
    expect(connection.received()).toContain(`"${code}"`);
    expect(connection.received()).not.toMatch(/x-powered-by|etag/i);
    expect(ingress.store.calls).toEqual([]);
  });

  test("a query string belongs to the provider", async () => {
    connection.write(
      rawRequest({ id: "queried" }).replace("/webhooks/plain", "/webhooks/plain?a=/b"),
    );
    expect(await connection.statuses(1)).toEqual([202]);
  });
});
