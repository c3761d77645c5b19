import { expect, test } from "vitest";
import { identifyError } from "./fingerprint.ts";

const identify = (text: string, frame?: { file: string; function: string | null }) =>
  identifyError({ code: "handler_failed", text, frame });

// Groups, and the decisions of people about them, are kept under these. A change raises the version
// and leaves these lines to the version that made them.
test.each([
  ["Error: Order ord_8aF3kd92LmQ1 not found", "1-ff714caa52c812ee"],
  ["TypeError: Cannot read properties of undefined (reading 'amount')", "1-6fc7bdeddc89c551"],
  [
    'DatabaseError: duplicate key value violates unique constraint "orders_pkey" (SQLSTATE 23505)',
    "1-42c86252f55d1468",
  ],
  [
    "TypeError: fetch failed (cause: Error: connect ECONNREFUSED 127.0.0.1:8443)",
    "1-8d3bdefad884997a",
  ],
  [
    'Error: Refused: {"id":"7","weight":12,"at":"2026-01-31T12:00:00Z"} of kim@example.com',
    "1-192d0aff08ce7997",
  ],
  [
    "UpstreamError: HTTP 503 from https://api.example.com/v1/orders/7: retry in 12 s",
    "1-88ea95876dfa1f8c",
  ],
  [`SyntaxError: Unexpected token '<', "<html>"... is not valid JSON`, "1-d75e8634ecb9ef9c"],
])("an error keeps its fingerprint from release to release: %s", (text, fingerprint) => {
  expect(identify(text).fingerprint).toBe(fingerprint);
});

test("so does one with a frame of the project's own code", () => {
  const frame = { file: "src/ship.ts", function: "async ship" };
  const { fingerprint } = identify("Error: Order ord_8aF3kd92LmQ1 not found", frame);
  expect(fingerprint).toBe("1-1404b909d20b1332");
});

test("code, text, file, and function tell errors apart; lines and names that V8 makes up do not", () => {
  const text = "Error: no";
  const ship = { file: "src/ship.ts", function: "ship" };
  const { fingerprint } = identify(text, ship);
  expect(fingerprint).toMatch(/^1-[0-9a-f]{16}$/);
  const others = [
    identify("Error: yes", ship),
    identify(text, { ...ship, file: "src/pay.ts" }),
    identify(text, { ...ship, function: "pay" }),
    identify(text),
    identifyError({ code: "handler_timeout", text, frame: ship }),
  ].map((other) => other.fingerprint);
  expect(new Set([fingerprint, ...others]).size).toBe(6);
  const moved = { ...ship, line: 99, column: 1 };
  expect(identify(text, moved).fingerprint).toBe(fingerprint);
  expect(identify(text, { ...ship, function: "async ship" }).fingerprint).toBe(fingerprint);
  const nameless = ["<anonymous>", "Object.<anonymous>", null].map(
    (name) => identify(text, { ...ship, function: name }).fingerprint,
  );
  expect(new Set(nameless).size).toBe(1);
});

test.each([
  ["Error: Event evt_w2 was not found", "Error: Event evt_9 was not found"],
  ["Error: No such charge: ch_3", "Error: No such charge: py_1a"],
  ["Error: order_17 is locked.", "Error: order_4 is locked."],
  ["Error: Cannot ship order_17, order_18", "Error: Cannot ship order_1"],
  ["Error: in_test_7 failed", "Error: in_test_12 failed"],
  ["Error: lost the key k188584", "Error: lost the key k725"],
  ["Error: SKU188584 is sold out", "Error: SKU1885843 is sold out"],
])("short ids behind a prefix do not tell errors apart: %s", (one, other) => {
  expect(identify(one).title).toContain("<id>");
  expect(identify(other)).toEqual(identify(one));
});

test.each([
  [`invalid input syntax for type integer: "a"b"`, `invalid input syntax for type integer: "7"`],
  [`Cannot parse "5" screen" of a customer`, `Cannot parse "phone" of a customer`],
  ["Unknown customer 'O'Brien'", "Unknown customer 'Smith'"],
  [`Unknown repository "acme/docs-dfacea": nobody`, `Unknown repository "acme/web": nobody`],
  ["Cannot find the shop 'it's us' today", "Cannot find the shop 'us' today"],
  [
    `Unexpected token 'x', "it's "x" and" is not valid JSON`,
    `Unexpected token '}', ..."id":}" is not valid JSON`,
  ],
])("a quote within a quoted value does not split a group: %s", (one, other) => {
  expect(identify(other)).toEqual(identify(one));
});

test("a text that is not JSON is one error, however it goes on", () => {
  const texts = [
    '{"a":1,}',
    '{"a" 1}',
    '{"a":1',
    '["a\\x"]',
    '["a\nb"]',
    "{} {}",
    "[1.]",
    "[-]",
    '["a',
    "[1,",
    "",
  ];
  const titles = texts.map((text) => {
    try {
      return JSON.parse(text);
    } catch (error) {
      return identify(String(error)).title;
    }
  });
  expect(new Set(titles)).toEqual(new Set(["SyntaxError: <text> is not valid JSON"]));
});

test.each([
  ['Error: column "line_1" does not exist', 'Error: column "line_2" does not exist'],
  ["Error: column line_1 does not exist", "Error: column line_2 does not exist"],
  [
    "Error: missing FROM-clause entry for o_1.total",
    "Error: missing FROM-clause entry for o_2.total",
  ],
  ["Error: sha_256 is not supported", "Error: sha_512 is not supported"],
  ["Error: sha256 is not supported", "Error: sha512 is not supported"],
  ["Error: P2002 of the client", "Error: P2003 of the client"],
  ["Error: ERR_2 of the device", "Error: ERR_3 of the device"],
  ["Error: address_a is missing", "Error: address_b is missing"],
  ["Error: The carrier answered 404", "Error: The carrier answered 502"],
  ["Error: The carrier responded with 404", "Error: The carrier responded with 502"],
])("names of programs that end with a number do, and statuses of HTTP: %s", (one, other) => {
  expect(identify(one).title).toBe(one);
  expect(identify(other).fingerprint).not.toBe(identify(one).fingerprint);
});

test("a hostile text costs no more than a moment, and its title is short", () => {
  const parts = ["a".repeat(60) + "_", '"', "'", '"a": "', "1.", ":", "0x0 ", "/a", "a@", "<n>, "];
  parts.push("Cannot convert ", "a://", '"path": [', "[", "A-", "1e", "aa11", "host ", "`", "“");
  parts.push("a_", "a_1", "a_1 ", "evt_w2 ", "k1", "k123456 ");
  for (const part of parts) {
    for (const text of [part.repeat(4_000), `${"x".repeat(50)}${part}`.repeat(400)]) {
      const started = process.cpuUsage();
      expect(identify(text).title.length).toBeLessThanOrEqual(300);
      expect(process.cpuUsage(started).user, part).toBeLessThan(250_000);
    }
  }
});
