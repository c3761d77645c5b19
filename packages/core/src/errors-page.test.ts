import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERROR_CODES } from "./error-codes.ts";

const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");

test("the page has every code once, with its status and meaning, in the registry's order", () => {
  const rows = page
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.slice(2, -2).split(" | "))
    .map((cells) => cells.map((cell) => cell.trim()));
  const wanted = Object.entries(ERROR_CODES).map(([code, error]) => {
    return [`\`${code}\``, "status" in error ? String(error.status) : "", error.meaning];
  });
  expect(rows).toEqual(wanted);
});
