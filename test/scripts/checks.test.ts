import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MUTANTS } from "../faults/mutants/mutants.ts";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-checks-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test("the layers: what points down passes, and each way around them is named by its file", async () => {
  await put("package.json", { workspaces: ["apps/*", "packages/*"] });
  await put("packages/core/package.json", { name: "@millrace/core" });
  await put("packages/queue/package.json", {
    name: "@millrace/queue",
    dependencies: { "@millrace/core": "0.1.0" },
    exports: { ".": "./dist/index.js", "./testing": "./dist/testing.js" },
  });
  await put("apps/worker/package.json", { name: "@millrace/worker" });
  await put("apps/ingress/package.json", { name: "@millrace/ingress" });
  await put("packages/core/src/index.ts", 'import { createHash } from "node:crypto";');
  await put(
    "packages/core/src/said.ts",
    '/**\n * import "@millrace/queue";\n */\n// import "pg";\n',
  );
  await put("packages/core/src/a.test.ts", 'import "node:fs";\nprocess.env.X;');
  await put("packages/queue/src/index.ts", 'import type { Event } from "@millrace/core";');
  await put("apps/worker/src/main.ts", 'import "@millrace/queue";\nprocess.env["X"];');
  await put("apps/worker/src/second.ts", `import ${JSON.stringify("@millrace/queue/testing")};`);
  expect(check("layers", [root])).toEqual({ status: 0, found: [] });

  const refused = {
    "packages/core/src/against.ts": 'import "@millrace/queue";',
    "packages/core/src/against-type.ts": 'export type * from "@millrace/queue";',
    "packages/core/src/against-dynamic.ts": 'await import("@millrace/queue");',
    "packages/core/src/files.ts": 'import { readFile } from "node:fs/promises";',
    "packages/core/src/sockets.ts": 'import http from "http";',
    "packages/core/src/driver.ts": 'import pg from "pg";',
    "apps/worker/src/app.ts": 'import "@millrace/ingress";',
    "apps/worker/src/past-the-door.ts": `import ${JSON.stringify("@millrace/queue/src/x.ts")};`,
    "apps/worker/src/another-door.ts": `import ${JSON.stringify("@millrace/queue/test")};`,
    "apps/worker/src/path.ts": 'import "../../../packages/queue/src/x.ts";',
    "apps/worker/src/env.ts": "export const x = process.env.X;",
    "apps/worker/src/env-by-name.ts": 'export const x = process["env"];',
  };
  for (const [path, text] of Object.entries(refused)) await put(path, text);
  await put("packages/core/package.json", {
    name: "@millrace/core",
    dependencies: { "@millrace/queue": "0.1.0" },
  });
  await put("packages/new/package.json", { name: "@millrace/new" });
  const { status, found } = check("layers", [root]);
  expect(status).toBe(1);
  const expected = [
    ...Object.keys(refused),
    "may not depend on @millrace/queue",
    "new has no layer",
  ];
  expect(found).toHaveLength(expected.length);
  for (const part of expected) expect(found).toContainEqual(expect.stringContaining(part));
  await put("package.json", { workspaces: [] });
  expect(check("layers", [root]).status).toBe(1);
});

const UNUSED: Readonly<Record<string, readonly [text: string, name: string]>> = {
  interface: [
    "export interface It { used(): void; unused(): void }\n" +
      "export const it = (): It => ({ used() {}, unused() {} });",
    "It.unused",
  ],
  class: [
    "export class Thing { used() { this.own(); } unused() {} private own() {} }\n" +
      "export const it = () => new Thing();",
    "Thing.unused",
  ],
  override: [
    "class Base { run() { this.step(); } step() {} }\n" +
      "export class Some extends Base { override step() {} used() { this.run(); } unused() {} }\n" +
      "export const it = () => new Some();",
    "Some.unused",
  ],
  returned: ["export function it() { return { used: () => 1, unused: () => 2 }; }", "it().unused"],
  gathered: [
    "const used = (n: number) => n;\nconst unused = used;\nconst part = { used, unused };\n" +
      "type Bound<T> = { [K in keyof T]: () => number };\n" +
      "export const it = (): Bound<typeof part> => null!;",
    "part.unused",
  ],
};
const USED = {
  apart: "const { unused } = it();\nunused();",
  renamed: "const { unused: other } = it();\nother();",
  picked: 'const part: Pick<It, "unused"> = it();\npart.unused();',
  spread: "const more = { ...it() };\nmore.unused();",
};

test("the methods: one that only a test or a namesake calls is found, in whatever it is", async () => {
  const compilerOptions = {
    ...{ target: "es2023", module: "nodenext", strict: true, noEmit: true },
    ...{ allowImportingTsExtensions: true, types: [] },
  };
  const exclude = ["**/*.test.ts"];
  await put("tsconfig.methods.json", { compilerOptions, include: ["packages"], exclude });
  await put("packages/a/src/other.ts", "export const g = (f: { unused(): void }) => f.unused();");
  for (const [shape, [text]] of Object.entries(UNUSED)) {
    const imported = `import { it } from "./${shape}.ts";\n`;
    await put(`packages/a/src/${shape}.ts`, text);
    await put(`packages/a/src/use-${shape}.ts`, `${imported}it().used();`);
    await put(`packages/a/src/${shape}.test.ts`, `${imported}(it() as any).unused();`);
  }
  for (const [way, text] of Object.entries(USED)) {
    const declared = "export interface It { used(): void; unused(): void }\n";
    await put(`packages/a/src/${way}.ts`, `${declared}export declare const it: () => It;`);
    const imported = `import { it, type It } from "./${way}.ts";\nit().used();\n`;
    await put(`packages/a/src/use-${way}.ts`, `${imported}${text}`);
  }
  const { status, found } = check("methods", [root]);
  const expected = Object.entries(UNUSED).map(
    ([shape, [, name]]) => `packages/a/src/${shape}.ts: nothing calls ${name}`,
  );
  expect({ status, found: found.toSorted() }).toEqual({ status: 1, found: expected.toSorted() });
});

test("the words: those of the list are found in prose, sentences, comments and names", async () => {
  execFileSync("git", ["init", "--quiet"], { cwd: root });
  await put("packages/ledger/migrations/README.md", "Whoever\n");
  await put(
    "docs/page.md",
    "Neither answers. A retold, long-standing story. `mend` and ``a ` whoever``\n\n```\nwhoever\n```\n" +
      '[a page](whoever.md) and <https://example.com/nor>\n"whoever" <!-- words: quotation -->\n',
  );
  expect(words()).toEqual({ status: 0, found: [] });
  await put("README.md", "# Title\n\nWhoever sends is told so.\n");
  const told = "better says, logs, reports, notifies, distinguishes";
  expect(words()).toEqual({
    status: 1,
    found: ['README.md:3: "Whoever": better anyone who', `README.md:3: "told": ${told}`],
  });

  const source = [
    'import { whoever } from "nor a path";',
    "/** What it does. */",
    "// Takes `whoever` in place of it.",
    `// It ${"is wide ".repeat(13)}`.trimEnd(),
    'const name = "whoever";',
    'const said = "whoever holds it";',
    "const made = `the ${whoever} is told`;",
    'const url = "https://a.b/what it";\n',
  ];
  await put("packages/core/src/a.ts", source.join("\n"));
  await put("packages/core/src/a.test.ts", 'test("whoever reads it", run);\n');
  const at = (line: number) => `packages/core/src/a.ts:${line}`;
  expect(words("strings").found).toEqual([
    `${at(6)}: "whoever": better anyone who`,
    `${at(7)}: "told": ${told}`,
  ]);
  expect(words("comments").found).toEqual([
    `${at(2)}: "What it": better the noun: the limit, the rows, the answer`,
    `${at(3)}: "place": better store, slot, position, page, or instead of`,
    `${at(2)}: "What": better the subject first`,
    expect.stringMatching(/a\.ts:4: ".*": better at most 100 columns$/),
  ]);
  expect(words("alerts")).toEqual({ status: 1, found: [] });
  await put("test/golden/http.txt", "GET /api/disagreements\n    kinds[].mend string\n");
  expect(words("names").found).toEqual(['test/golden/http.txt:2: "mend": better repair, fix']);
});

// `npm run faults:mutants` takes an hour; this finds a mutant that the source has moved away from.
test("the mutants: every edit applies exactly once, and every suite that tries them is there", () => {
  const pathOf = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
  const problems: string[] = [];
  for (const { name, edits, trials } of MUTANTS) {
    const texts = new Map<string, string>();
    for (const { file, from, to } of edits) {
      const text = texts.get(file) ?? readFileSync(pathOf(file), "utf8");
      const times = text.split(from).length - 1;
      if (times !== 1 || to === from) problems.push(`${name}: ${times} times in ${file}: ${from}`);
      texts.set(
        file,
        text.replace(from, () => to),
      );
    }
    const suites = trials.flatMap((trial) => ("suites" in trial ? trial.suites : []));
    const missing = suites.filter((suite) => !existsSync(pathOf(suite)));
    problems.push(...missing.map((suite) => `${name}: no suite ${suite}`));
  }
  expect(problems).toEqual([]);
  expect(MUTANTS.length).toBeGreaterThan(50);
});

const words = (...args: readonly string[]) => check("words", args);

function check(name: string, args: readonly string[]) {
  const script = fileURLToPath(new URL(`../../scripts/check-${name}.mjs`, import.meta.url));
  const { status, stdout } = spawnSync(process.execPath, [script, ...args], {
    env: { PATH: process.env["PATH"], WORDS_ROOT: root },
    encoding: "utf8",
  });
  return { status, found: stdout.trim().split("\n").slice(0, -1) };
}

async function put(path: string, content: unknown): Promise<void> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
}
