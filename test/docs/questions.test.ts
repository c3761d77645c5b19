import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import questions from "./questions.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), "utf8").replaceAll(/\s+/g, " ");

test("each question that users ask is answered on a page with the words that they search for", () => {
  expect(new Set(questions.map(({ question }) => question)).size).toBe(40);
  const missing = questions.flatMap(({ question, words, page, answer }) => {
    const text = read(`docs/${page}.md`);
    const absent = words.filter((word) => !text.toLowerCase().includes(word));
    return [...absent, ...(text.includes(answer) ? [] : [answer])].map((what) => [question, what]);
  });
  expect(missing).toEqual([]);
});

test("what people wrote has at most 65,000 words", () => {
  const pages = ["docs", "decisions"].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`),
  );
  const written = ["README.md", ...pages.filter((path) => path.endsWith(".md"))];
  const words = written.flatMap((path) => read(path).trim().split(" "));
  expect(words.length).toBeLessThanOrEqual(65_000);
});
