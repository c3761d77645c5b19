import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const script = fileURLToPath(new URL("../../scripts/check-words.mjs", import.meta.url));
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-words-"));
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

function check(...args: readonly string[]) {
  const { status, stdout } = spawnSync(process.execPath, [script, ...args], {
    env: { PATH: process.env["PATH"], WORDS_ROOT: folder },
    encoding: "utf8",
  });
  return { status, found: stdout.trim().split("\n").slice(0, -1) };
}

test("a word on the list is found with its line and a better one", async () => {
  await put("README.md", "# Title\n\nWhoever sends is told so.\n");
  const { status, found } = check();
  expect(status).toBe(1);
  expect(found).toEqual([
    'README.md:3: "Whoever": better anyone who',
    'README.md:3: "told": better says, logs, reports, notifies, distinguishes',
  ]);
});

test.each([
  ["a plain page", "Neither Redis nor Postgres answers. A retold, long-standing story.\n"],
  ["code", "`mend` and ``a ` whoever``\n\n```\nwhoever\n```\n"],
  ["a link's target", "[a page](whoever.md) and <https://example.com/nor>\n"],
  ["a quotation", 'He wrote "whoever". <!-- words: quotation -->\n'],
])("%s passes", async (_, text) => {
  await put("docs/page.md", text);
  expect(check()).toEqual({ status: 0, found: [] });
});

test("files with a reason to hold such words are left alone", async () => {
  await put("packages/ledger/migrations/README.md", "Whoever\n");
  await put("README.md", "Plain.\n");
  expect(check()).toEqual({ status: 0, found: [] });
});

test("in source it is the sentences of strings that count", async () => {
  await put(
    "packages/core/src/a.ts",
    [
      'import { whoever } from "nor a path";',
      "/** Whoever reads this comment. */",
      "// nor this one",
      'const name = "whoever";',
      'const said = "whoever holds it";',
      "const made = `the ${whoever} is told`;",
      "",
    ].join("\n"),
  );
  await put("packages/core/src/a.test.ts", 'test("whoever reads it", run);\n');
  expect(check("strings").found).toEqual([
    'packages/core/src/a.ts:5: "whoever": better anyone who',
    'packages/core/src/a.ts:6: "told": better says, logs, reports, notifies, distinguishes',
  ]);
  expect(check("packages/core").status).toBe(1);
});

test("a comment begins with its subject, within 100 columns, and has no such words", async () => {
  const wide = `// It ${"is wide ".repeat(13)}`.trimEnd();
  const lines = ["// Takes `whoever` in place of it.", "", "/**", " * What it does.", " */", wide];
  await put(
    "packages/core/src/a.ts",
    [...lines, 'const url = "https://a.b/what it";', ""].join("\n"),
  );
  expect(check("comments").found).toEqual([
    'packages/core/src/a.ts:1: "place": better store, slot, position, page, or instead of',
    'packages/core/src/a.ts:4: "What it": better the noun: the limit, the rows, the answer',
    'packages/core/src/a.ts:4: "What": better the subject first',
    expect.stringMatching(/a\.ts:6: ".*": better at most 100 columns$/),
  ]);
});

test("a set without files is a mistake", () => {
  expect(check("alerts")).toEqual({ status: 1, found: [] });
});

test("a field of the API is looked at in the list of names", async () => {
  await put("test/golden/http.txt", "GET /api/disagreements\n    kinds[].mend string\n");
  expect(check("names").found).toEqual(['test/golden/http.txt:2: "mend": better repair, fix']);
});
