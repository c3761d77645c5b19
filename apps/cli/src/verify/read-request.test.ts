import { expect, test } from "vitest";
import { readRequest } from "../commands/verify.ts";

const http = (lines: readonly string[], body: string, end = "\r\n") =>
  Buffer.from(`${[...lines, ""].join(end)}${end}${body}`, "latin1");

const HEAD = ["POST https://a.example/webhooks/pay?x=1 HTTP/1.1", "Host: a.example", "X-Sig:  a "];
const READ = { method: "POST", url: "/webhooks/pay?x=1" };

test.each(["\r\n", "\n"])("HTTP is read with its bytes, whatever ends its lines (%j)", (end) => {
  const request = readRequest(http([...HEAD, "x-sig: b"], "\u00ff\r\n\r\n{}\n", end));
  expect(request).toEqual({
    ...READ,
    headers: { host: "a.example", "x-sig": "a, b" },
    body: Buffer.from("\u00ff\r\n\r\n{}\n", "latin1"),
  });
});

test("a line end that an editor wrote behind the body is no part of it", () => {
  expect(readRequest(http([...HEAD, "Content-Length: 2"], "{}\n")).body.toString()).toBe("{}");
});

test("JSON has method, url, headers, and body", () => {
  const saved = { headers: { "X-Sig": ["a", "b"], Host: "h" }, body: "é" };
  expect(readRequest(Buffer.from(JSON.stringify({ ...READ, ...saved })))).toEqual({
    ...READ,
    headers: { "x-sig": "a, b", host: "h" },
    body: Buffer.from("é"),
  });
  expect(readRequest(Buffer.from('{"headers":{}}'))).toMatchObject({ method: "POST", url: "/" });
});

test.each<[string, Buffer, string]>([
  ["no empty line", Buffer.from("POST / HTTP/1.1\r\nHost: a"), "it must be"],
  ["another first line", http(["HTTP/1.1 200 OK"], ""), "it must be"],
  ["a body that is cut", http([...HEAD, "Content-Length: 3"], "{}"), "2 of 3 bytes"],
  ["chunks", http([...HEAD, "Transfer-Encoding: chunked"], "0"), "in chunks"],
  ["half of JSON", Buffer.from('{"headers":'), "JSON"],
  ["a parsed body", Buffer.from('{"headers":{},"body":{"id":1}}'), "it must be"],
])("a request with %s is refused", (_title, bytes, words) => {
  expect(() => readRequest(bytes)).toThrow(
    expect.objectContaining({ code: "invalid_request", message: expect.stringContaining(words) }),
  );
});

test("a gzipped body that is cut off is a request that cannot be read", () => {
  const cut = http(HEAD, "\u001f\u008b\u0008");
  expect(() => readRequest(cut, { inflates: true })).toThrow(/^Cannot read the request: /);
});
