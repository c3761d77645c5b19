import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const script = fileURLToPath(new URL("../../scripts/check-layers.mjs", import.meta.url));
let house: string;

beforeEach(async () => {
  house = await mkdtemp(join(tmpdir(), "millrace-layers-"));
  await put("package.json", { workspaces: ["apps/*", "packages/*"] });
  await put("packages/core/package.json", { name: "@millrace/core" });
  await put("packages/queue/package.json", {
    name: "@millrace/queue",
    dependencies: { "@millrace/core": "0.1.0" },
  });
  await put("apps/worker/package.json", { name: "@millrace/worker" });
  await put("apps/ingress/package.json", { name: "@millrace/ingress" });
  await put("packages/core/src/index.ts", 'import { createHash } from "node:crypto";');
  await put("packages/queue/src/index.ts", 'import type { Event } from "@millrace/core";');
  await put("apps/worker/src/main.ts", 'import "@millrace/queue";\nprocess.env["X"];');
});

afterEach(() => rm(house, { recursive: true, force: true }));

describe("the check of the layers", () => {
  test("passes this repository", () => {
    expect(check(fileURLToPath(new URL("../..", import.meta.url)))).toMatchObject({ status: 0 });
  });

  test("passes a house in which imports point one way", () => {
    expect(check(house)).toMatchObject({ status: 0, problems: [] });
  });

  test("fails where there is no workspace to look at", async () => {
    await put("package.json", { workspaces: [] });
    expect(check(house)).toMatchObject({ status: 1 });
  });

  test.each([
    ["an import against the layers", "packages/core/src/a.ts", 'import "@millrace/queue";'],
    [
      "a type imported against them",
      "packages/core/src/a.ts",
      'export type * from "@millrace/queue";',
    ],
    ["a dynamic import against them", "packages/core/src/a.ts", 'await import("@millrace/queue");'],
    ["an app that imports an app", "apps/worker/src/a.ts", 'import "@millrace/ingress";'],
    [
      "a path past the door",
      "apps/worker/src/a.ts",
      `import ${JSON.stringify("@millrace/queue/src/x.ts")};`,
    ],
    [
      "a path out of the package",
      "apps/worker/src/a.ts",
      'import "../../../packages/queue/src/x.ts";',
    ],
    ["files in core", "packages/core/src/a.ts", 'import { readFile } from "node:fs/promises";'],
    ["sockets in core", "packages/core/src/a.ts", 'import http from "http";'],
    ["a driver in core", "packages/core/src/a.ts", 'import pg from "pg";'],
    [
      "the environment outside of main.ts",
      "apps/worker/src/a.ts",
      "export const x = process.env.X;",
    ],
    ["the environment by its name", "apps/worker/src/a.ts", 'export const x = process["env"];'],
  ])("refuses %s", async (_, path, text) => {
    await put(path, text);
    expect(check(house)).toMatchObject({ status: 1, problems: [expect.stringContaining(path)] });
  });

  test("refuses a dependency against the layers", async () => {
    await put("packages/core/package.json", {
      name: "@millrace/core",
      dependencies: { "@millrace/queue": "0.1.0" },
    });
    expect(check(house)).toMatchObject({
      status: 1,
      problems: [expect.stringContaining("may not depend on @millrace/queue")],
    });
  });

  test("refuses a workspace without a layer", async () => {
    await put("packages/new/package.json", { name: "@millrace/new" });
    expect(check(house)).toMatchObject({
      status: 1,
      problems: [expect.stringContaining("@millrace/new has no layer")],
    });
  });

  test("passes a second door that a package's manifest names, and no other", async () => {
    await put("packages/queue/package.json", {
      name: "@millrace/queue",
      dependencies: { "@millrace/core": "0.1.0" },
      exports: { ".": "./dist/index.js", "./testing": "./dist/testing.js" },
    });
    await put("apps/worker/src/a.ts", `import ${JSON.stringify("@millrace/queue/testing")};`);
    expect(check(house)).toMatchObject({ status: 0, problems: [] });
    await put("apps/worker/src/a.ts", `import ${JSON.stringify("@millrace/queue/test")};`);
    expect(check(house)).toMatchObject({ status: 1 });
  });

  test("takes no notice of what comments say", async () => {
    await put(
      "packages/core/src/a.ts",
      '/**\n * import "@millrace/queue";\n */\n// import "pg";\n',
    );
    expect(check(house)).toMatchObject({ status: 0 });
  });

  test("lets tests do what the code may not", async () => {
    await put("packages/core/src/a.test.ts", 'import "node:fs";\nprocess.env.X;');
    expect(check(house)).toMatchObject({ status: 0 });
  });
});

function check(root: string): { status: number | null; problems: string[] } {
  const result = spawnSync(process.execPath, [script, root], { encoding: "utf8" });
  const lines = result.stdout.trim().split("\n");
  return { status: result.status, problems: lines.slice(0, -1) };
}

async function put(path: string, content: object | string): Promise<void> {
  const target = join(house, path);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, typeof content === "string" ? content : JSON.stringify(content));
}
