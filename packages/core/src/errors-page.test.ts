import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERROR_CODES } from "./error-codes.ts";

const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");

test("the page has a heading for every code, in the registry's order", () => {
  const headings = [...page.matchAll(/^### `(\w+)`$/gm)].map(([, code]) => code);
  expect(headings).toEqual(Object.keys(ERROR_CODES));
});

test.each(Object.entries(ERROR_CODES))(
  "%s has its status, cause, example, and fix",
  (code, error) => {
    const [, section = ""] = page.split(`### \`${code}\`\n`);
    const [cause, ...list] = section
      .split(/\n\n|\n(?=- )/)
      .map((part) => part.replaceAll(/\s+/g, " "));
    const status = "status" in error ? `HTTP ${error.status}. ` : "";
    expect(cause?.trim()).toBe(status + error.meaning);
    expect(list[0]).toMatch(/^- \*\*Example:\*\* ./);
    expect(list[1]).toMatch(/^- \*\*Fix:\*\* ./);
  },
);
