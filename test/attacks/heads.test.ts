import { expect, onTestFinished, test } from "vitest";
import { Webhook } from "standardwebhooks";
import { connect, type RawConnection } from "../intake/raw-connection.ts";
import { onPostgres } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { SECRETS, startStack } from "../support/pipeline.ts";
import { headOf } from "./attackers.ts";

const HEAD_BYTES_MAX = 16_384;

const stack = openForAll(() => startStack(onPostgres, { worker: false }));

async function say(text: string): Promise<RawConnection> {
  const connection = await connect(Number(new URL(stack.ingress.url).port));
  onTestFinished(() => connection.abort());
  connection.write(text);
  return connection;
}

function signed(id: string, more: readonly string[] = []): { head: string; body: string } {
  const body = JSON.stringify({ type: "thing.happened", data: { id } });
  const now = new Date();
  const lines = [
    "POST /webhooks/acme HTTP/1.1",
    "host: localhost",
    ...more,
    `webhook-id: ${id}`,
    `webhook-timestamp: ${Math.floor(now.getTime() / 1_000)}`,
    `webhook-signature: ${new Webhook(SECRETS.acme).sign(id, now, body)}`,
    `content-length: ${body.length}`,
  ];
  return { head: `${lines.join("\r\n")}\r\n\r\n`, body };
}

const EXPECTS = "expect: 100-continue";
const unsigned = (head: string) => head.replace(/x-hub-signature-256.*\r\n/, "");
const unknown = (head: string) =>
  unsigned(head).replace("github", "nobody").replace("100000", "99");

test.each<[string, (head: string) => string, number]>([
  ["no signature", unsigned, 401],
  // It is taken for one of the sources: with a signature it may be asked, and much is too large for some.
  ["a source that is not configured", unknown, 401],
  ["more bytes than the source takes", (head) => head.replace("100000", "26214401"), 413],
  [
    "a compressed body",
    (head) => head.replace("\r\n\r\n", "\r\ncontent-encoding: gzip\r\n\r\n"),
    415,
  ],
])(
  "a sender that asks first, with %s, is refused and not asked for its body",
  async (_, change, status) => {
    const head = headOf(`content-length: 100000\r\n${EXPECTS}`);
    const connection = await say(change(head));
    await connection.ended();
    expect(await connection.statuses(1)).toEqual([status]);
  },
);

test("a sender that asks first and is refused with a small body cannot send another request in its place", async () => {
  const head = headOf(`content-length: 20\r\n${EXPECTS}`).replace(/x-hub-signature-256.*\r\n/, "");
  const { head: next, body } = signed("evt_behind_1");
  const connection = await say(head);
  expect(await connection.statuses(1)).toEqual([401]);
  connection.write(next + body);
  await connection.ended();
  expect(await connection.statuses(1)).toEqual([401]);
});

test("a sender that asks first is asked for its body, and its connection is kept", async () => {
  for (const id of ["evt_asked_1", "evt_asked_2"]) {
    const { head, body } = signed(id, [EXPECTS]);
    const connection = await say(head);
    expect(await connection.statuses(1)).toEqual([100]);
    connection.write(body);
    expect(await connection.statuses(2)).toEqual([100, 202]);
    const next = signed(`${id}_more`);
    connection.write(next.head + next.body);
    expect(await connection.statuses(3)).toEqual([100, 202, 202]);
  }
});

test.each([
  ["two hosts", ["Host: elsewhere"]],
  ["the same host twice", ["HOST: localhost"]],
])("a request with %s is refused, signed as it may be", async (_, more) => {
  const { head, body } = signed("evt_hosts_1", more);
  const connection = await say(head + body);
  expect(await connection.statuses(1)).toEqual([400]);
  await connection.ended();
  expect(connection.received()).toContain('"malformed_request"');
});

function padded(id: string, bytes: number): { head: string; body: string } {
  const { head } = signed(id, ["x:"]);
  const lines = Math.floor((bytes - head.length) / "x:\r\n".length);
  return signed(
    id,
    Array.from({ length: 1 + lines }, () => "x:"),
  );
}

test("25 kB of tiny headers are too large, though names and values are not", async () => {
  const { head, body } = padded("evt_tiny_1", 25_000);
  expect(head.length).toBeGreaterThan(24_990);
  const connection = await say(head + body);
  expect(await connection.statuses(1)).toEqual([431]);
  await connection.ended();
  expect(connection.received()).toContain('"headers_too_large"');
});

test("a head of 12 kB in thousands of tiny headers is read to its last header", async () => {
  const { head, body } = padded("evt_tiny_2", 12_000);
  expect(head.length).toBeLessThan(HEAD_BYTES_MAX);
  const connection = await say(head + body);
  // Its signature stands behind the 2,000th header.
  expect(await connection.statuses(1)).toEqual([202]);
});
