import { connectionHint, docsOf, errorText, isMillraceError, type ErrorCode } from "@millrace/core";
import type { Output } from "./context.ts";
import { printable } from "./terminal-text.ts";

/** Prints an error with its code at the end of the first line, and below it where to read on. */
export function reportError(error: unknown, to: Output, options: { withStack: boolean }) {
  const code: ErrorCode = isMillraceError(error) ? error.code : "internal";
  const message = errorText(error);
  // An argument of the command can be a stranger's text.
  const lines = withCode(message, code, connectionHint(error)).split("\n").map(printable);
  to.write(`millrace: ${lines.join("\n")}\nSee ${docsOf(code)}\n`);
  if (options.withStack) to.write(`${stackOf(error)}\n`);
  return { code, message };
}

function withCode(message: string, code: ErrorCode, hint: string | undefined): string {
  const text = hint === undefined ? message : `${message}. ${hint}`;
  const list = text.indexOf(":\n");
  return list < 0 ? `${text} (${code})` : `${text.slice(0, list)} (${code})${text.slice(list)}`;
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const cause = error.cause === undefined ? "" : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
