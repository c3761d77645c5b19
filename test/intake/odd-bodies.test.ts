import { afterEach, beforeEach, expect, test } from "vitest";
import { SECRET } from "./plain-config.ts";
import { SIGNATURE, sign } from "./plain-provider.ts";
import { connect, type RawConnection } from "./raw-connection.ts";
import { rawRequest, startTestIngress, type TestIngress } from "./test-ingress.ts";

const HEAD = "POST /webhooks/plain HTTP/1.1\r\nhost: localhost\r\n";

let ingress: TestIngress;
let connection: RawConnection;

beforeEach(async () => {
  ingress = await startTestIngress();
  connection = await connect(ingress.port);
});
afterEach(async () => {
  connection.abort();
  await ingress.close();
});

async function stillWorks(): Promise<void> {
  connection.write(rawRequest({ id: "alive" }));
  expect((await connection.statuses(2)).at(-1)).toBe(202);
}

test.each([
  ["no content-type", ""],
  ["a form", "content-type: application/x-www-form-urlencoded\r\n"],
  ["another charset", "content-type: application/json; charset=utf-16\r\n"],
])("%s changes nothing: signed bytes are signed bytes", async (_title, header) => {
  const body = '{"id":"typed"}';
  const signature = `${SIGNATURE}: ${sign(body, SECRET)}\r\n`;
  connection.write(`${HEAD}${header}${signature}content-length: ${body.length}\r\n\r\n${body}`);
  expect(await connection.statuses(1)).toEqual([202]);
});

test("a signature header that comes twice is refused, in either order", async () => {
  const body = '{"id":"twice"}';
  const good = sign(body, SECRET);
  for (const pair of [
    [good, "bad"],
    ["bad", good],
    [good, good],
  ]) {
    const other = await connect(ingress.port);
    const lines = pair.map((value) => `${SIGNATURE}: ${value}\r\n`).join("");
    other.write(`${HEAD}${lines}content-length: ${body.length}\r\n\r\n${body}`);
    expect(await other.statuses(1)).toEqual([401]);
    other.abort();
  }
});

test.each([
  ["40,000 nested lists", `{"id":"nested","x":${"[".repeat(40_000)}${"]".repeat(40_000)}}`],
  [
    "100,000 keys",
    `{"id":"keys",${Array.from({ length: 100_000 }, (_, key) => `"${key}":0`).join()}}`,
  ],
  [
    "keys of Object.prototype",
    '{"id":"proto","__proto__":{"x":1},"toString":1,"constructor":{"prototype":{}}}',
  ],
  ["numbers beyond a double", `{"id":"numbers","x":1e400,"y":${"9".repeat(30)}}`],
  [
    "a megabyte of colours and lines",
    JSON.stringify({ id: "ansi", x: "\u001b[31m\n".repeat(60_000) }),
  ],
])("a signed body with %s is kept", async (_title, body) => {
  connection.write(rawRequest(body, { source: "large" }));
  expect(await connection.statuses(1)).toEqual([202]);
  const [event] = ingress.store.events.values();
  expect(Buffer.from(event?.body ?? []).toString()).toBe(body);
  await stillWorks();
});
