import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGE = readFileSync(join(ROOT, "docs", "threat-model.md"), "utf8");

const [head = [], , ...rows] = PAGE.replace(/\n## [^]*/, "")
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .map((line) => line.slice(1, -1).split("|"))
  .map((cells) => cells.map((cell) => cell.trim()));

const testsOf = (row: readonly string[]) =>
  [...(row[4] ?? "").matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) =>
    normalize(join("docs", link)),
  );

test("the table says who, how, what stands in the way, and what is left", () => {
  expect(head).toEqual(["asset", "attacker", "path", "control", "test", "what is left"]);
  expect(rows.length).toBeGreaterThan(5);
  for (const row of rows)
    expect([row[0], row.filter((cell) => cell !== "").length]).toEqual([row[0], 6]);
});

test("every control has a test that is there", () => {
  const isTest = (path: string) => path.endsWith(".test.ts") && existsSync(join(ROOT, path));
  const without = rows.filter((row) => testsOf(row).length === 0 || !testsOf(row).every(isTest));
  expect(without).toEqual([]);
});

test("every attack that is tested has its row", () => {
  const linked = rows.flatMap(testsOf);
  const attacks = readdirSync(join(ROOT, "test", "attacks")).filter((file) =>
    file.endsWith(".test.ts"),
  );
  expect(attacks.filter((file) => !linked.includes(join("test", "attacks", file)))).toEqual([]);
});
