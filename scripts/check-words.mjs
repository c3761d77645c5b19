// Looks for words that readers stumble over, as scripts/words.mjs lists them. A line that quotes
// somebody else ends with `words: quotation` in a comment.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { EXCEPTIONS, findCommentWords, findWords, proseOf, sentencesOf } from "./words.mjs";

const HELP = `Looks for words that readers stumble over.

  node scripts/check-words.mjs [set or path ...]

Sets:
  markdown   every page of the repository (the default)
  strings    messages, help, log lines and metric help in the source of apps and packages
  alerts     what the alerts say
  names      fields, flags and codes that programs read, as test/golden lists them
  comments   comments in the source of apps, packages, infra and scripts

A path is a file or a folder of the repository.`;

const SETS = {
  markdown: ["*.md"],
  strings: ["apps/*.ts", "apps/*.tsx", "packages/*.ts", "infra/*.ts", ":!*.test.ts"],
  alerts: ["infra/prometheus/*.yml"],
  names: ["test/golden/*.txt"],
};

const root = resolve(process.env["WORDS_ROOT"] ?? dirname(dirname(fileURLToPath(import.meta.url))));
const args = process.argv.slice(2);
if (args.includes("--help") || args.includes("-h")) {
  console.log(HELP);
  process.exit(0);
}

const COMMENTS = [
  ...["apps", "packages", "infra", "scripts"].flatMap((folder) =>
    ["ts", "tsx", "mjs"].map((ending) => `${folder}/*.${ending}`),
  ),
];

const wanted = args.length === 0 ? ["markdown"] : args;
const texts = wanted.filter((name) => name !== "comments");
const files = new Set(texts.flatMap((name) => filesOf(SETS[name] ?? [name])));
const commented = wanted.includes("comments") ? filesOf(COMMENTS) : [];
const problems = [
  ...[...files]
    .toSorted()
    .flatMap((path) => check(path, (text) => findWords(readable(path, text)))),
  ...commented.toSorted().flatMap((path) => check(path, findCommentWords)),
];
for (const problem of problems) console.log(problem);
console.log(`${files.size + commented.length} files, ${problems.length} problems`);
process.exit(problems.length === 0 && files.size + commented.length > 0 ? 0 : 1);

/** Files that git knows or that are new, by patterns of git's. */
function filesOf(patterns) {
  const listed = execFileSync(
    "git",
    ["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", ...patterns],
    { cwd: root, encoding: "utf8" },
  );
  return listed
    .split("\n")
    .filter((path) => path !== "" && !EXCEPTIONS.some(([exempt]) => exempt.test(path)));
}

function check(path, find) {
  let text;
  try {
    text = readFileSync(join(root, path), "utf8");
  } catch (error) {
    // Deleted, and not yet committed.
    if (error.code === "ENOENT") return [];
    throw error;
  }
  return find(text).map(({ line, word, better }) => `${path}:${line}: "${word}": better ${better}`);
}

function readable(path, text) {
  if (extname(path) === ".md") return proseOf(text);
  return /\.(?:ts|tsx|mts|mjs)$/.test(path) ? sentencesOf(text) : text;
}
