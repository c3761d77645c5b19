import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadConfig } from "./load-config.ts";
import { loadHandlers } from "./load-handlers.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "millrace-config-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const SOURCES = `sources: { shop: { provider: { createVerifier() {} } } }`;

async function load(files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const { config } = await loadConfig(join(folder, "millrace.config.ts"));
  return await loadHandlers(config);
}

test("the paths of the project's tsconfig.json are followed, also by the handlers", async () => {
  const handler = `{ sources: ["shop"], types: ["a"], write() {} }`;
  const handlers = await load({
    "tsconfig.json": `{
      // As an editor writes it.
      "compilerOptions": { "paths": { "@/*": ["./src/*"] } },
    }`,
    "src/sources.ts": `export const named: object = { ${SOURCES} };`,
    "src/list.ts": `export const list = [${handler}];`,
    "src/handlers.ts": `import { list } from "@/list"; export default list;`,
    "millrace.config.ts": `
      import { named } from "@/sources.ts";
      export default { ...named, handlers: () => import("@/handlers.ts") };`,
  });
  expect(handlers).toMatchObject([{ types: ["a"] }]);
});

const CONFIG = `export default { ${SOURCES}, handlers: () => import("./handlers.ts") };`;
const THROWS = "type X = 1;\n\nexport const a = (undefined as unknown as { b: number }).b;";

test.each([
  ["an error", "handlers_not_loaded", { "handlers.ts": THROWS }, "handlers.ts:3:"],
  [
    "an error further on",
    "handlers_not_loaded",
    { "handlers.ts": `import "./more.ts";`, "more.ts": THROWS },
    "more.ts:3:",
  ],
  ["bad syntax", "handlers_not_loaded", { "handlers.ts": "\nconst a: = 1;" }, "handlers.ts:2:"],
  [
    "a file that is not there",
    "handlers_not_loaded",
    { "handlers.ts": `const a = 1;\nimport "./nowhere.ts";` },
    "handlers.ts:2)",
  ],
  [
    "a package that is not there",
    "handlers_not_loaded",
    { "handlers.ts": `\n\nimport "a-package-of-nobody";` },
    "handlers.ts:3)",
  ],
  [
    "a name that is not exported",
    "handlers_not_loaded",
    { "handlers.ts": `import { a } from "./more.ts";\na();`, "more.ts": "export const b = 1;" },
    "handlers.ts:2:",
  ],
  [
    "an error of a .mjs file",
    "handlers_not_loaded",
    { "handlers.ts": `import "./a.mjs";`, "a.mjs": "\nnull.b;" },
    "a.mjs:2:",
  ],
  ["an error in the config", "invalid_config", { "millrace.config.ts": THROWS }, "config.ts:3:"],
  [
    "a module of the config that is not there",
    "invalid_config",
    { "millrace.config.ts": `\nimport "./nowhere.ts";` },
    "config.ts:2)",
  ],
])("%s at import has its file and line", async (_, code, files, place) => {
  await expect(load({ "millrace.config.ts": CONFIG, ...files })).rejects.toMatchObject({
    code,
    message: expect.stringContaining(place),
  });
});

test("half a provider, a bad hmac(), and a bad setting are told at once", async () => {
  const wrong = load({
    "millrace.config.ts": `export default {
      sources: {
        half: { provider: { name: "half", createVerifier() {} } },
        bad: { provider: { createVerifier() {}, problems: [{ path: ["id"], message: "is wrong" }] } },
      },
      worker: { concurrency: 0 },
    };`,
  });
  for (const line of [
    "half.provider: has no methods (list)",
    "bad.id: is wrong",
    "concurrency: must",
  ]) {
    await expect(wrong).rejects.toThrow(line);
  }
});
