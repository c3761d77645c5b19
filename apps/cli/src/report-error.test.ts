import { MillraceError } from "@millrace/core";
import { expect, test } from "vitest";
import { reportError } from "./report-error.ts";

function told(error: unknown): string {
  let text = "";
  reportError(error, { write: (chunk) => (text += chunk) }, { withStack: false });
  return text;
}

test("an error is one line with its code last, and its link below", () => {
  const error = new MillraceError("port_in_use", "Cannot listen on a:1: the port is taken");
  expect(told(error)).toBe(
    "millrace: Cannot listen on a:1: the port is taken (port_in_use)\nSee docs/errors.md#port_in_use\n",
  );
  expect(told(new Error("no luck"))).toBe(
    "millrace: no luck (internal)\nSee docs/errors.md#internal\n",
  );
});

test("of a list of problems the code stands above them, and none seems to have it", () => {
  const error = new MillraceError("missing_secret", "Cannot receive webhooks:\n  a: no\n  b: no");
  expect(told(error)).toBe(
    "millrace: Cannot receive webhooks (missing_secret):\n  a: no\n  b: no\nSee docs/errors.md#missing_secret\n",
  );
});

test("a server that does not answer names the variable to look at", () => {
  const error = new MillraceError("database_unavailable", "Cannot use Postgres: ECONNREFUSED");
  expect(told(error)).toContain(
    "ECONNREFUSED. Check the host and port in DATABASE_URL, and that the server runs there",
  );
});

test("what a terminal would act on is escaped, line by line", () => {
  const error = new MillraceError(
    "invalid_config",
    "Cannot find \u001b[31mevt\u0007:\n  a:\u202eb",
  );
  expect(told(error)).toBe(
    "millrace: Cannot find \\u{1b}[31mevt\\u{7} (invalid_config):\n  a:\\u{202e}b\nSee docs/errors.md#invalid_config\n",
  );
});
