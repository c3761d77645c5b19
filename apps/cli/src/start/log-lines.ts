import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { styleText } from "node:util";
import { jsonOf } from "@millrace/core";
import type { Output } from "../context.ts";
import { printable } from "../terminal-text.ts";

const HIDDEN = new Set(["level", "time", "pid", "role", "hostname", "msg"]);

export function pipeLines(from: Readable, name: string, to: Output, plainLevel?: "warn"): void {
  const lines = createInterface({ input: from, crlfDelay: Infinity });
  lines.on("line", (line) => {
    if (line !== "") writeLine(to, name, line, plainLevel);
  });
}

/** `plainLevel` is the level of a line that is not JSON. */
export function writeLine(
  to: Output,
  name: string,
  line: string,
  plainLevel: "info" | "warn" = "info",
): void {
  const parsed = line.startsWith("{") ? jsonOf(line) : undefined;
  const record = (parsed ?? { level: plainLevel, msg: line }) as LogRecord;
  const isShort = to.isTTY === true;
  to.write(`${isShort ? short(name, record) : JSON.stringify({ ...record, process: name })}\n`);
}

function short(name: string, record: LogRecord): string {
  const prefix = styleText("cyan", name.padEnd(10));
  const time = brief(record["time"] ?? "").slice(11, 19);
  const message = brief(record["msg"] ?? "");
  const fields = Object.entries(record)
    .filter(([key]) => !HIDDEN.has(key))
    .map(([key, value]) => `${key}=${brief(value)}`);
  const text = fields.length === 0 ? message : `${message} ${styleText("dim", fields.join(" "))}`;
  const start = time === "" ? "" : `${styleText("dim", time)} `;
  return `${start}${prefix} ${coloured(text, record["level"])}`;
}

function coloured(text: string, level: unknown): string {
  if (level === "warn") return styleText("yellow", text);
  return level === "error" || level === "fatal" ? styleText("red", text) : text;
}

// Ids and errors come from strangers, and this goes to a terminal.
function brief(value: unknown): string {
  if (typeof value === "string") return printable(value);
  if (typeof value === "object" && value !== null && "message" in value) {
    return brief(JSON.stringify(value.message));
  }
  return printable(JSON.stringify(value) ?? "");
}

type LogRecord = Readonly<Record<string, unknown>>;
