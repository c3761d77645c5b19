import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const script = fileURLToPath(new URL("../../scripts/check-methods.mjs", import.meta.url));
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-methods-"));
  const compilerOptions = {
    ...{ target: "es2023", module: "nodenext", strict: true, noEmit: true },
    ...{ allowImportingTsExtensions: true, types: [] },
  };
  const exclude = ["**/*.test.ts"];
  await put("tsconfig.methods.json", { compilerOptions, include: ["packages"], exclude });
  await put("packages/a/src/use.ts", 'import { it } from "./it.ts";\nit().used();');
});

afterEach(() => rm(root, { recursive: true, force: true }));

describe("the check of methods", () => {
  test.each([
    [
      "a factory's interface",
      "export interface It { used(): void; unused(): void }\n" +
        "export const it = (): It => ({ used() {}, unused() {} });",
      "It.unused",
    ],
    [
      "a class",
      "export class Thing { used() { this.own(); } unused() {} private own() {} }\n" +
        "export const it = () => new Thing();",
      "Thing.unused",
    ],
    [
      "a class that overrides another's methods",
      "class Base { run() { this.step(); } step() {} }\n" +
        "export class Thing extends Base { override step() {} used() { this.run(); } unused() {} }\n" +
        "export const it = () => new Thing();",
      "Thing.unused",
    ],
    [
      "an object that a function returns",
      "export function it() { return { used: () => 1, unused: () => 2 }; }",
      "it().unused",
    ],
    [
      "an object that gathers functions, behind a mapped type",
      "const used = (n: number) => n;\nconst unused = used;\nconst part = { used, unused };\n" +
        "type Bound<T> = { [K in keyof T]: () => number };\n" +
        "export const it = (): Bound<typeof part> => null!;",
      "part.unused",
    ],
  ])("finds a method that nothing calls in %s", async (_where, text, name) => {
    await put("packages/a/src/it.ts", text);
    // Neither a test nor another object with a method of the name makes it used.
    await put(
      "packages/a/src/it.test.ts",
      'import { it } from "./it.ts";\n(it() as any).unused();',
    );
    await put("packages/a/src/other.ts", "export const g = (f: { unused(): void }) => f.unused();");
    expect(check(root)).toEqual({
      status: 1,
      problems: [`packages/a/src/it.ts: nothing calls ${name}`],
    });
  });

  test.each([
    ["taken apart", "const { unused } = it();\nunused();"],
    ["taken apart under another name", "const { unused: other } = it();\nother();"],
    ["picked", 'const part: Pick<It, "unused"> = it();\npart.unused();'],
    ["spread", "const more = { ...it() };\nmore.unused();"],
  ])("knows a method that is %s", async (_how, text) => {
    await put(
      "packages/a/src/it.ts",
      "export interface It { used(): void; unused(): void }\nexport declare const it: () => It;",
    );
    await put("packages/a/src/more.ts", `import { it, type It } from "./it.ts";\n${text}`);
    expect(check(root)).toEqual({ status: 0, problems: [] });
  });
});

async function put(path: string, content: unknown): Promise<void> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
}

function check(where: string): { status: number | null; problems: string[] } {
  const { status, stdout } = spawnSync(process.execPath, [script, where], { encoding: "utf8" });
  const lines = stdout.trim().split("\n");
  return { status, problems: lines.slice(0, -1) };
}
