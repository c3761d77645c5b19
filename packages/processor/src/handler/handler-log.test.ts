import { expect, test } from "vitest";
import { AttemptLog, openSilently, type LineWriter, type LogFields } from "./handler-log.ts";
import { makeJob } from "../testing/make-job.ts";

/** A log, and what came of it. */
function logOf(count = 1, level: "debug" | "info" = "info") {
  const opened: LogFields[] = [];
  const lines: unknown[][] = [];
  const note =
    (name: string) =>
    (...line: unknown[]) =>
      void lines.push([name, ...line]);
  const writer = {
    isLevelEnabled: (name) => name !== "debug" || level === "debug",
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
  } satisfies LineWriter;
  const events = Array.from(
    { length: count },
    (_, index) => makeJob({ eventId: `evt_${index}` }).event,
  );
  const log = new AttemptLog((fields) => (opened.push(fields), writer), events, 3);
  return { log, opened, lines };
}

test("a log is opened when a handler writes to it, once, with the event's fields", () => {
  const { log, opened, lines } = logOf();
  expect(opened).toEqual([]);
  log.lines.info("a line");
  log.lines.error({ status: 503 }, "another");
  log.lines.warn({ status: 504 });
  const fields = { source: "shop", event_id: "evt_0", generation: 0, attempt: 3 };
  expect(opened).toEqual([fields]);
  expect(lines).toEqual([
    ["info", "a line"],
    ["error", { status: 503 }, "another"],
    ["warn", { status: 504 }, undefined],
  ]);
});

test("the lines of a set name how many events it has", () => {
  const { log, opened } = logOf(7);
  log.lines.info("a line");
  expect(opened).toEqual([{ source: "shop", attempt: 3, events: 7 }]);
});

test("past 200 lines the rest is left out, and counted in one line", () => {
  const { log, lines } = logOf();
  // A line below the level is not written.
  for (let line = 0; line < 500; line += 1) log.lines.debug("quiet");
  for (let line = 0; line < 203; line += 1) log.lines.info(`line ${line}`);
  log.end();
  log.end();
  expect(lines).toHaveLength(201);
  expect(lines.at(-2)).toEqual(["info", "line 199"]);
  expect(lines.at(-1)).toEqual([
    "warn",
    { dropped: 3 },
    "3 lines of this attempt's handlers are left out",
  ]);
});

test("where nobody reads them, lines go nowhere", () => {
  const log = new AttemptLog(openSilently, [makeJob().event], 1);
  log.lines.error("unread");
  log.end();
});

test("keeps the last 64 lines for a failed attempt, without secrets, whatever was logged", () => {
  const { log } = logOf(1, "debug");
  for (let line = 0; line < 100; line += 1) log.lines.info(`line ${line}`);
  const cycle: Record<string, unknown> = { token: "Bearer abcdefghijklmnop" };
  cycle["self"] = cycle;
  log.lines.warn({ order: 7, big: 10n, authorization: "Bearer abcdefghijklmnop" }, "shipping");
  log.lines.error(cycle, "cycle");
  log.lines.debug("x".repeat(5_000));
  const { lines, dropped } = log.last();
  expect(lines).toHaveLength(64);
  expect(dropped).toBe(39);
  expect(lines[0]?.text).toBe("line 39");
  expect(lines.at(-3)).toMatchObject({
    level: "warn",
    text: expect.stringMatching(/^shipping \{"order":7,"big":"10"/),
  });
  expect(JSON.stringify(lines)).not.toContain("abcdefghijklmnop");
  expect(lines.at(-1)?.text).toHaveLength(1_000);
});

test("keeps at most 16,000 bytes of lines", () => {
  const { log } = logOf(1, "debug");
  for (let line = 0; line < 40; line += 1) log.lines.info("y".repeat(1_000));
  const { lines, dropped } = log.last();
  expect(lines).toHaveLength(16);
  expect(dropped).toBe(24);
  const other = logOf(1, "debug").log;
  for (let line = 0; line < 40; line += 1) other.lines.info("語".repeat(1_000));
  expect(other.last()).toMatchObject({ lines: { length: 5 }, dropped: 35 });
});
