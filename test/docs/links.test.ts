import { existsSync, readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import moved from "../../infra/site/.vitepress/moved.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const pages = execFileSync("find", [
  ...[ROOT, "(", "-name", "node_modules", "-o", "-name", "dist", "-o", "-name", ".*", ")"],
  ...["-prune", "-o", "-name", "*.md", "-print"],
])
  .toString()
  .trim()
  .split("\n")
  .map((path) => path.slice(ROOT.length));

test("every link of every page leads somewhere", () => {
  expect(pages).toContain("README.md");
  const broken = pages.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), "utf8").replaceAll(/```[\s\S]*?```/g, "");
    return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => !/^[a-z]+:/.test(link) && !isThere(page, link))
      .map((link) => `${page}: ${link}`);
  });
  expect(broken).toEqual([]);
});

test("every heading that has moved leads to one that is there", () => {
  const there = (link: string) => isThere("docs/README.md", link.replace(/^[^#]+/, "$&.md"));
  const isMoved = ([old, target]: [string, string]) =>
    !there(old) && (there(target) || target === "providers/index");
  expect(Object.entries(moved).filter((entry) => !isMoved(entry))).toEqual([]);
});

test("README is short, and its figures are those of the performance page", () => {
  const [readme, page] = ["README.md", "docs/performance.md"].map((path) =>
    readFileSync(join(ROOT, path), "utf8"),
  ) as [string, string];
  expect(readme.trim().split("\n").length).toBeLessThanOrEqual(150);
  const [, table = ""] = readme.split("## Performance");
  const figures = table.match(/\d+\.\d+ \([\d.]+–[\d.]+\)|0\.\d+/g) ?? [];
  expect(figures.length).toBeGreaterThan(9);
  expect(figures.filter((figure) => !page.includes(`| ${figure} `))).toEqual([]);
});

// Until it is published, the name is nobody's in the registry.
test("no text installs the package by its name", () => {
  const texts = [...pages, "apps/cli/src/commands/init.ts", "apps/cli/src/init/templates.ts"];
  const found = texts.filter((path) =>
    /npm (?:i|install|add) (?:-\S+ )*millrace\b/.test(readFileSync(join(ROOT, path), "utf8")),
  );
  expect(found).toEqual([]);
});

function isThere(page: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(ROOT, target))) return false;
  return anchor === undefined || anchors(target).includes(anchor);
}

function anchors(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
