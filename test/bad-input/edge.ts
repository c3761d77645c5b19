import { expect } from "vitest";
import { connect, type RawConnection } from "../intake/raw-connection.ts";
import { until } from "../support/until.ts";
import type { Line, LineTests } from "./lines.ts";
import { plain, stripe, stripeBody } from "./senders.ts";
import type { Target } from "./target.ts";
import { toBytes, toDraft, withHeader, write, type WireRequest } from "./wire.ts";

const HEAD = "POST /webhooks/a HTTP/1.1\r\nhost: localhost\r\n";
const SPOOFED = "203.0.113.77";

const NO_SOURCE = [
  ...["nobody", "__proto__", "constructor", "", "stripe/", "stripe/more", "STRIPE", "%73tripe"],
  ...["stripe%2f", "..%2fstripe", "%zz"],
];
const NO_ROUTE = ["/webhooks", "/Webhooks/stripe", "//webhooks/stripe", "/%zz"];
const PATHS = [
  ...NO_SOURCE.map((source) => [`/webhooks/${source}`, "401 invalid_signature"] as const),
  ...NO_ROUTE.map((path) => [path, "404 not_found"] as const),
];

const UNREADABLE: readonly (readonly [Line, string, string])[] = [
  [51, "two lengths", "content-length: 2\r\ncontent-length: 3\r\n\r\n{}x"],
  [51, "a negative length", "content-length: -1\r\n\r\n"],
  [51, "a length that is no number", "content-length: 0x10\r\n\r\n{}"],
  [51, "a length and chunks", "content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
  [51, "a NUL in a header", "x: a\0b\r\ncontent-length: 2\r\n\r\n{}"],
  [51, "a bare CR in a header", "x: a\rb\r\ncontent-length: 2\r\n\r\n{}"],
  [51, "a chunk without a size", "transfer-encoding: chunked\r\n\r\nzz\r\n"],
  [52, "100 headers of 1 kB", `${`x: ${"x".repeat(1_000)}\r\n`.repeat(100)}\r\n`],
  [52, "one header of 100 kB", `x: ${"x".repeat(100_000)}\r\n\r\n`],
];

export function edge(tests: LineTests, target: () => Target): void {
  for (const method of ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
    tests.proves(49, `${method} is answered 405`, async () => {
      const request = { ...stripe(stripeBody("method_1")), method };
      expect(await target().refusal(request)).toBe("405 method_not_allowed");
    });
  }
  tests.proves(49, "HEAD is answered 405 without a body", async () => {
    const connection = await target().open();
    connection.write("HEAD /webhooks/a HTTP/1.1\r\nhost: x\r\n\r\n");
    expect(await connection.statuses(1)).toEqual([405]);
    connection.write("HEAD /webhooks/a HTTP/1.1\r\nhost: x\r\n\r\n");
    expect(await connection.statuses(2)).toEqual([405, 405]);
    expect(connection.received()).not.toContain("method_not_allowed");
  });

  for (const [path, answer] of PATHS) {
    tests.proves(50, `${path} is answered ${answer}`, async () => {
      expect(await target().refusal({ ...stripe(stripeBody("path_1")), path })).toBe(answer);
    });
  }

  for (const [line, title, rest] of UNREADABLE) {
    const answer = line === 52 ? "431 headers_too_large" : "400 malformed_request";
    tests.proves(line, `${title} is answered ${answer}`, async () => {
      expect(await target().refusal(Buffer.from(`${HEAD}${rest}`, "latin1"))).toBe(answer);
    });
  }
  tests.proves(51, "an expectation that nobody meets is answered 417", async () => {
    const request = withHeader(stripe(stripeBody("expect_1")), "expect", "the-worst");
    expect(await target().refusal(request)).toBe("417 expectation_failed");
  });
  tests.proves(51, "a request that came whole is taken, whatever comes behind it", async () => {
    const request = stripe(stripeBody("rest_1"));
    await target().deliver(request, "rest_1");
    for (const rest of ["\0", "x", "GET / HTTP/9.9\r\n\r\n"]) {
      for (const close of [true, false]) {
        const draft = toDraft(request);
        if (close) draft.headers.push(["connection", "close"]);
        draft.framing = { kind: "chunked", sizes: [7] };
        const connection = await target().open();
        connection.write(Buffer.concat([write(draft), Buffer.from(rest)]));
        expect(await connection.statuses(1)).toEqual([200]);
        await until(() => connection.isFinished, { what: "the connection ended" });
      }
    }
  });
  tests.proves(51, "HTTP/1.1 without a Host is answered 400", async () => {
    const bytes = toBytes(stripe(stripeBody("no_host_1"))).toString("latin1");
    const request = Buffer.from(bytes.replace("host: localhost\r\n", ""), "latin1");
    expect(await target().refusal(request)).toBe("400 malformed_request");
  });
  tests.proves(51, "HTTP/1.0 without a length is an empty body", async () => {
    const bytes = Buffer.from("POST /webhooks/a HTTP/1.0\r\n\r\n");
    expect(await target().refusal(bytes)).toBe("400 invalid_body");
  });
  tests.proves(51, "what is no HTTP at all is answered 400, and the end", async () => {
    const bytes = Buffer.from("\x16\x03\x01\x00 is that TLS?\r\n\r\n", "latin1");
    expect(await target().refusal(bytes)).toBe("400 malformed_request");
  });
  tests.proves(51, "requests that are sent in one go are answered in their order", async () => {
    const connection = await target().open();
    const bad = plain("a", '{"id":""}');
    const missing = { ...bad, path: "/webhooks/nobody" };
    connection.write(Buffer.concat([missing, bad, missing].map(toBytes)));
    expect(await connection.statuses(3)).toEqual([401, 400, 401]);
    expect(connection.isFinished).toBe(false);
  });

  tests.proves(53, "X-Forwarded-For is not believed, and not logged as a client's", async () => {
    const spoof = (request: WireRequest) =>
      withHeader(withHeader(request, "x-forwarded-for", SPOOFED), "forwarded", `for=${SPOOFED}`);
    await target().take(spoof(stripe(stripeBody("spoofed_1"))), "spoofed_1");
    const unsigned = withHeader(spoof(stripe(stripeBody("spoofed_2"))), "stripe-signature");
    expect(await target().refusal(unsigned)).toBe("401 invalid_signature");
    expect(target().ingress.output()).not.toContain(SPOOFED);
  });

  tests.proves(54, "connections beyond the bound are closed, and the others served", async () => {
    const bound = 40;
    const over = { TEST_CONNECTIONS_MAX: String(bound) };
    const crowded = await target().pipeline.start("ingress", over);
    const port = Number(new URL(crowded.url).port);
    const idle = await Promise.all(Array.from({ length: bound + 60 }, () => connect(port)));
    try {
      const open = () => idle.filter((connection) => !connection.isFinished);
      await until(() => open().length <= bound, { what: "the rest closed" });
      const [kept] = open();
      kept?.write(toBytes({ ...plain("a", "{}"), path: "/webhooks/nobody" }));
      expect(await kept?.statuses(1)).toEqual([401]);
    } finally {
      for (const connection of idle) connection.abort();
    }
    expect(await crowded.end("SIGTERM")).toBe(0);
  });

  tests.proves(54, "two thousand idle connections hold nobody up, and are ended", async () => {
    const idle: RawConnection[] = [];
    // More at a time would wait in the kernel, where the ingress cannot end them.
    while (idle.length < 2_000) {
      idle.push(...(await Promise.all(Array.from({ length: 100 }, () => target().open()))));
    }
    await target().stillWorks();
    await until(() => idle.every((connection) => connection.isFinished), { what: "all ended" });
  });
}
