import { spawnSync } from "node:child_process";
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
