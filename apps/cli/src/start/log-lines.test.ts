import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { writeLine } from "./log-lines.ts";

function written(isTTY: boolean, name: string, line: string): string {
  let text = "";
  writeLine({ isTTY, write: (chunk) => (text += chunk) }, name, line);
  return stripVTControlCharacters(text);
}

const LINE = JSON.stringify({
  level: "warn",
  time: "2026-11-21T10:20:30.400Z",
  role: "worker",
  pid: 7,
  source: "stripe",
  err: { type: "Error", message: "no luck", stack: "..." },
  msg: "attempt failed",
});

test("on a terminal a line is short, with time, name, words and fields", () => {
  expect(written(true, "worker-1", LINE)).toBe(
    '10:20:30 worker-1   attempt failed source=stripe err="no luck"\n',
  );
});

test("elsewhere a line is JSON and says which process spoke", () => {
  expect(JSON.parse(written(false, "worker-1", LINE))).toEqual({
    ...JSON.parse(LINE),
    process: "worker-1",
  });
});

test("a line that is not JSON is passed on with its name", () => {
  expect(written(true, "ingress", "millrace: no (internal)")).toBe(
    "ingress    millrace: no (internal)\n",
  );
  expect(JSON.parse(written(false, "ingress", "{ not JSON"))).toEqual({
    level: "info",
    process: "ingress",
    msg: "{ not JSON",
  });
});

test("a stranger's id does not steer the terminal", () => {
  const line = JSON.stringify({ msg: "event failed", event_id: "\u001b[2Jevt" });
  let text = "";
  writeLine({ isTTY: true, write: (chunk) => (text += chunk) }, "worker-1", line);
  expect(text).not.toContain("\u001b[2J");
  expect(text).toContain("\\u{1b}[2Jevt");
});

test("a line that is not JSON, from where errors are written, is no mere information", () => {
  let text = "";
  writeLine({ write: (chunk) => (text += chunk) }, "ingress", "millrace: no (internal)", "warn");
  expect(JSON.parse(text)).toEqual({
    level: "warn",
    process: "ingress",
    msg: "millrace: no (internal)",
  });
});
