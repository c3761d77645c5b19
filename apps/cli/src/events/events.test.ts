import { JsonText } from "@millrace/core";
import type { Attempt, EventRow } from "@millrace/api-contract";
import type { EventRecord } from "@millrace/ledger";
import { expect, test } from "vitest";
import { age, formatDetail, formatList } from "./format-events.ts";
import { formatTable, printable } from "../terminal-text.ts";

test("what would steer a terminal is shown, not done", () => {
  expect(printable("\u001b[2Jevt\r\n\u202eabc\u0000")).toBe(
    "\\u{1b}[2Jevt\\u{d}\\n\\u{202e}abc\\u{0}",
  );
  expect(printable("Größe 漢字 😀")).toBe("Größe 漢字 😀");
});

test("an age is told in its largest unit", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const ago = (seconds: number) => age(new Date(now.getTime() - seconds * 1_000), now);
  expect([0, 59, 60, 3_599, 3_600, 86_399, 86_400, 1e7].map(ago)).toEqual([
    "0s",
    "59s",
    "1m",
    "59m",
    "1h",
    "23h",
    "1d",
    "115d",
  ]);
  expect(ago(-5)).toBe("0s");
});

test("a table's columns stand under each other, and a terminal cuts its lines", () => {
  const rows = [
    ["SOURCE", "ID", "ERROR"],
    ["stripe", "evt_1", ""],
    ["a", "b", "a long reason"],
  ];
  expect(formatTable(rows)).toBe(
    "SOURCE  ID     ERROR\nstripe  evt_1\na       b      a long reason",
  );
  expect(formatTable(rows, 20)).toBe("SOURCE  ID     ERROR\nstripe  evt_1\na       b      a lo…");
});

const ROW: EventRow = {
  source: "shop",
  event_id: "evt_1",
  generation: 0,
  type: "order.packed",
  status: "pending",
  outcome: null,
  attempts: 2,
  unsigned: false,
  edited: false,
  received_at: "2026-11-21T11:00:00.000Z",
  recorded_at: "2026-11-21T11:00:00.000Z",
  started_at: "2026-11-21T11:59:00.000Z",
  processed_at: null,
  next_attempt_at: "2026-11-21T12:05:00.000Z",
  last_error: "Error: no",
  last_error_code: "handler_failed",
  fingerprint: null,
};

test.each<[Partial<EventRow>, string]>([
  [{}, "in 5m"],
  [{ last_error_code: "retry_later" }, "waits 5m"],
  [{ next_attempt_at: "2026-11-21T12:00:00.000Z" }, "due"],
  [{ next_attempt_at: null }, ""],
])("the next attempt of an event with %o is shown as %j", (over, next) => {
  const now = new Date("2026-11-21T12:00:00Z");
  const [head = "", line = ""] = formatList([{ ...ROW, ...over }], now, {
    write: () => true,
  }).split("\n");
  const at = head.indexOf("NEXT");
  expect(line.slice(at, head.indexOf("LAST ERROR")).trim()).toBe(next);
  expect(line).toMatch(/Error: no$/);
});

/** An event as the ledger gives it, with so much of its body. */
const record = (over: Partial<EventRecord>): EventRecord => ({
  event: ROW,
  ...{
    payload: null,
    body: undefined,
    bodyBytes: undefined,
    headers: {},
    find: [],
    attempt_log: [],
  },
  ...{ conflicts: [], generations: [], same_message: { total: 0, events: [] }, emitted_by: null },
  emitted: { total: 0, events: [] },
  deliveries: { total: 1, recent: [] },
  ...{ acts: [], steps: [] },
  ...over,
});

test.each<[string, Partial<EventRecord>, RegExp]>([
  ["no longer kept", {}, /payload\n {2}no longer kept$/],
  [
    "JSON, formatted",
    { payload: new JsonText('{"a":1}'), body: Buffer.from('{"a":1}'), bodyBytes: 7 },
    /payload\n {2}\{\n {4}"a": 1\n {2}\}$/,
  ],
  [
    "cut, with the way to all of it",
    { body: Buffer.from("1 €").subarray(0, 4), bodyBytes: 20_000_000 },
    /payload\n {2}1 \n {2}The first 4 bytes\. All 20000000 bytes: .*events shop evt_1 --body <file>$/,
  ],
  [
    "bytes, and not mojibake",
    { body: Uint8Array.of(0, 255, 77), bodyBytes: 3 },
    /payload\n {2}Not text\. All 3 bytes: .*events shop evt_1 --body <file>$/,
  ],
])("a body is shown as it is: %s", (_what, over, shown) => {
  expect(formatDetail(record(over), new Date())).toMatch(shown);
});

test("the source of an event has a note where nothing signed covers it", () => {
  const text = formatDetail(record({}), new Date(), " (authenticated only, not verified)");
  expect(text).toMatch(/^source +shop \(authenticated only, not verified\)$/m);
});

test("an event that came more than once lists its deliveries", () => {
  const at = "2026-11-21T11:00:01.000Z";
  const recent = [{ at, outcome: "conflict", ingress: "host-1" } as const];
  const text = formatDetail(record({ deliveries: { total: 12, recent } }), new Date());
  expect(text).toContain(`deliveries: 12, the last 1\n  ${at}  conflict  host-1`);
  expect(formatDetail(record({}), new Date())).not.toContain("deliveries");
});

test("acts and steps stand among the attempts, by their time", () => {
  const at = (second: number) => `2026-11-21T11:00:0${second}.000Z`;
  const attempt: Attempt = {
    ...{ attempt: 1, started_at: null, finished_at: at(2), code: "handler_failed" },
    ...{ message: "Error: no", counted: true, fingerprint: null },
    ...{ stack: null, log: null, log_dropped: null },
  };
  const act = { action: "retry", actor: "ann", via: "cli", reason: null, generation: 0, run: null };
  const acts = [
    { ...act, at: at(3), reason: "fixed\u001b" },
    { ...act, at: at(4), action: "retry_many", actor: null, run: 7 },
  ];
  const steps = [{ at: at(1), name: "charge", attempt: 1 }];
  const text = formatDetail(record({ attempt_log: [attempt], acts, steps }), new Date());
  const section = text.split("\n\n").find((part) => part.startsWith("timeline"));
  expect(section?.split("\n").map((line) => line.trim().replaceAll(/ {2,}/g, " | "))).toEqual([
    "timeline",
    `step | ${at(1)} | charge | ended in attempt 1`,
    `1 | ${at(2)} | handler_failed | Error: no`,
    `by hand | ${at(3)} | retry | ann (cli): fixed\\u{1b}`,
    `by hand | ${at(4)} | retry_many | unknown user (cli), run 7`,
  ]);
});

test("equal attempts are one line, unless something happened between them", () => {
  const made = (number: number, time: string, over: Partial<Attempt> = {}): Attempt => ({
    ...{ attempt: number, started_at: null, finished_at: time, code: "handler_failed" },
    ...{ message: "Error: no", counted: true, fingerprint: null },
    ...{ stack: null, log: null, log_dropped: null, ...over },
  });
  const attempt_log = [
    made(1, "2026-11-21T02:10:00.000Z"),
    made(2, "2026-11-21T03:00:00.000Z"),
    made(3, "2026-11-21T04:40:00.000Z"),
    made(4, "2026-11-21T05:00:00.000Z", { message: "Error: other" }),
    made(5, "2026-11-21T06:00:00.000Z"),
    made(6, "2026-11-22T08:00:00.000Z"),
  ];
  const act = { action: "retry", actor: "ann", via: "cli", reason: null, generation: 0, run: null };
  const lines = (acts: EventRecord["acts"]) =>
    formatDetail(record({ attempt_log, acts }), new Date())
      .split("\n\n")
      .find((part) => /^(timeline|attempts)/.test(part))
      ?.split("\n")
      .slice(1)
      .map((line) => line.trim().replaceAll(/ {2,}/g, " | "));
  expect(lines([])).toEqual([
    "1 to 3 | 2026-11-21T04:40:00.000Z | handler_failed | ×3, 02:10 to 04:40: Error: no",
    "4 | 2026-11-21T05:00:00.000Z | handler_failed | Error: other",
    "5 to 6 | 2026-11-22T08:00:00.000Z | handler_failed | ×2, 2026-11-21T06:00 to 2026-11-22T08:00: Error: no",
  ]);
  expect(lines([{ ...act, at: "2026-11-21T03:30:00.000Z" }])?.slice(0, 3)).toEqual([
    "1 to 2 | 2026-11-21T03:00:00.000Z | handler_failed | ×2, 02:10 to 03:00: Error: no",
    "by hand | 2026-11-21T03:30:00.000Z | retry | ann (cli)",
    "3 | 2026-11-21T04:40:00.000Z | handler_failed | Error: no",
  ]);
});

test("one event shows where its last failed attempt threw, and what its handlers logged", () => {
  const at = "2026-11-21T02:10:00.000Z";
  const frames = { line: 7, column: 3 };
  const failed: Attempt = {
    ...{ attempt: 2, started_at: null, finished_at: at, code: "handler_failed" },
    ...{ message: "Error: no", counted: true, fingerprint: null, log_dropped: 36 },
    stack: [
      { ...frames, file: "node_modules/pg/client.js", function: null, own: false },
      { ...frames, file: "src/ship.ts", function: "async ship", own: true },
      { ...frames, file: "node_modules/millrace/bundle/index.js", function: "run", own: false },
      { ...frames, file: "node:internal/timers", function: null, own: false },
    ],
    log: [{ at, level: "info", text: "asking\u001b the carrier" }],
  };
  const waited: Attempt = {
    ...{ ...failed, attempt: 3, stack: null, log: null },
    code: "shutting_down",
  };
  const text = formatDetail(record({ attempt_log: [failed, waited] }), new Date());
  expect(text).toContain(
    [
      "thrown in attempt 2 (> is your own code)",
      "    node_modules/pg/client.js:7:3",
      "  > src/ship.ts:7:3                async ship",
      "    … 2 frames of millrace and other packages",
      "",
      "log of attempt 2, without 36 earlier lines",
      `  ${at}  info  asking\\u{1b} the carrier`,
    ].join("\n"),
  );
});

test("on a narrow terminal an error stands below its event; one that says 0 columns has 80", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const long = { ...ROW, status: "failed", last_error: `Error: ${"why ".repeat(40)}` } as const;
  const on = (columns: number) =>
    formatList([long, { ...ROW, last_error: null }], now, {
      write: () => true,
      isTTY: true,
      columns,
    });
  expect(on(80).split("\n")).toHaveLength(4);
  expect(on(80).split("\n")[2]).toMatch(/^ {2}Error: why why .{50,}…$/);
  expect(on(0)).toBe(on(80));
  expect(on(200).split("\n")).toHaveLength(3);
});
