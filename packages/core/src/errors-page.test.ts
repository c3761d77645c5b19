import { readFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { ERROR_CODES } from "./error-codes.ts";
import { docsOf } from "./errors.ts";

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
    if ("meaning" in error) expect(cause?.trim()).toBe(status + error.meaning);
    else expect(cause).toMatch(/^ ?\S.{10,}\.$/);
    expect(list[0]).toMatch(/^- \*\*Example:\*\* ./);
    expect(list[1]).toMatch(/^- \*\*Fix:\*\* ./);
  },
);

afterEach(() => void vi.unstubAllGlobals());

test("a link leads to the heading, in the repository that the bundle was made for", () => {
  expect(docsOf("not_found")).toBe("docs/errors.md#not_found");
  vi.stubGlobal("MILLRACE_REPOSITORY", "https://github.com/somebody/millrace");
  expect(docsOf("not_found")).toBe(
    "https://github.com/somebody/millrace/blob/main/docs/errors.md#not_found",
  );
});
