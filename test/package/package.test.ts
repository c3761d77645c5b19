import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { configSchema, sourceOptionsSchema } from "@millrace/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { samplesOf } from "../support/samples.ts";
import { installPackage, type InstalledPackage } from "./installed-package.ts";
import { CONSUMER, PROJECT, TRACED, tsconfig } from "./project.ts";
import { TYPED } from "./typed-project.ts";

const TSC = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));

describe("the package", { timeout: 300_000 }, () => {
  let project: InstalledPackage;

  beforeAll(async () => {
    project = await installPackage();
    await project.put({ ...PROJECT, ...CONSUMER });
  }, 300_000);
  afterAll(() => project?.remove());

  test("holds the library, the command and its types, and nothing of the workshop", async () => {
    const files = await project.files();
    expect(files).toEqual(
      expect.arrayContaining([
        ...["README.md", "LICENSE", "lib/cli/bin/millrace.mjs", "lib/millrace/dist/index.d.ts"],
        ...["lib/ledger/migrations/0001_ledger.sql", "lib/millrace/bundle/index.js"],
      ]),
    );
    expect(files.filter((path) => /\.test\.|\.map$|tsbuildinfo|(?<!\.d)\.ts$/.test(path))).toEqual(
      [],
    );
    const code = files.filter((name) => /\.(js|mjs|d\.ts)$/.test(name));
    const texts = await Promise.all(
      code.map((path) => readFile(join(project.folder, "node_modules/millrace", path), "utf8")),
    );
    expect(code.filter((_, index) => texts[index]?.includes('"@millrace/'))).toEqual([]);
    const [bom, manifest] = await Promise.all(
      ["sbom.cdx.json", "package.json"].map((path) =>
        readFile(join(project.folder, "node_modules/millrace", path), "utf8").then(JSON.parse),
      ),
    );
    const listed = bom.components.map(({ name }: { name: string }) => name);
    const bundled = ["express", "pino", "prom-client", "commander"];
    const wanted = [...Object.keys(manifest.dependencies), ...bundled].filter(
      (name) => !name.startsWith("@types/"),
    );
    expect(listed).toEqual(expect.arrayContaining(wanted));
  });

  test("shows a sentence for every setting in the editor", async () => {
    const json = { io: "input", unrepresentable: "any" } as const;
    const { properties } = configSchema.toJSONSchema(json);
    const ofSource = sourceOptionsSchema.toJSONSchema(json);
    const settings = [...namesIn({ properties }), ...namesIn(ofSource)];
    const core = join(project.folder, "node_modules/millrace/lib/core/dist");
    const files = ["settings.d.ts", "source-settings.d.ts"].map((name) => join(core, name));
    const types = (await Promise.all(files.map((path) => readFile(path, "utf8")))).join("\n");
    const documented = (name: string) => new RegExp(`\\*/\\s+(readonly )?${name}\\??:`).test(types);
    expect(settings.length).toBeGreaterThan(30);
    expect(settings.filter((name) => !documented(name))).toEqual([]);
  });

  test("asks for the embedded Postgres by the command that installs it", async () => {
    const { output: size } = await project.run("du", "-sm", "node_modules");
    expect(Number.parseInt(size)).toBeLessThan(60);
    const bare = await project.run("npx", "millrace", "start");
    expect(bare).toMatchObject({
      code: 1,
      output: expect.stringContaining("postgres_not_started"),
    });
    const [, command = ""] = /Run "npm (install [^"]+)"/.exec(bare.output) ?? [];
    expect(await project.run("npm", ...command.split(" "))).toMatchObject({ code: 0 });
  });

  test("makes spans by the newest SDK of OpenTelemetry that is installed beside it", async () => {
    const sdk = ["@opentelemetry/api", "@opentelemetry/sdk-trace-node"];
    expect(await project.run("npm", "install", "--no-audit", ...sdk)).toMatchObject({ code: 0 });
    await project.put({ "traced.mjs": TRACED });
    const { output } = await project.run("node", "traced.mjs");
    expect(output).toContain("spans: receive hooks");
    expect(output).not.toContain("No spans are made");
  });

  test("has a README whose samples compile", async () => {
    const at = join(project.folder, "node_modules/millrace/README.md");
    const samples = samplesOf(await readFile(at, "utf8"));
    expect([...samples.keys()]).toEqual(["millrace.config.ts", "handlers.test.ts"]);
    await project.put(inFolder("readme", samples));
    await project.put({ "readme/vitest.d.ts": VITEST });
    await project.put({ "readme/tsconfig.json": tsconfig("nodenext") });
    await project.put({ "readme/package.json": '{ "type": "module" }\n' });
    const compiled = await project.run(process.execPath, TSC, "-p", "readme");
    expect(compiled).toEqual({ code: 0, output: "" });
  });

  test("has an init whose project compiles strictly, after the steps that it names", async () => {
    const made = await project.run("npx", "millrace", "init", "fresh", "--source", "stripe,github");
    expect(made).toMatchObject({ code: 0, output: expect.stringContaining("npm init -y") });
    const initialized = await project.run("npm", "init", "-y", "--prefix", "fresh");
    expect(initialized.code).toBe(0);
    const compilerOptions = JSON.parse(
      await readFile(join(project.folder, "fresh/tsconfig.json"), "utf8"),
    ).compilerOptions;
    expect(compilerOptions).toMatchObject({ strict: true, noUncheckedIndexedAccess: true });
    expect(await project.run(process.execPath, TSC, "-p", "fresh")).toEqual({
      code: 0,
      output: "",
    });
  });

  test.each(["nodenext", "bundler"] as const)("has types for moduleResolution %s", async (way) => {
    await project.put({ "package.json": '{ "private": true, "type": "module" }\n' });
    await project.put({ "tsconfig.json": tsconfig(way) });
    expect(await project.run(process.execPath, TSC, "-p", ".")).toEqual({ code: 0, output: "" });
  });

  test("refuses a wrong source, type, field and table in handlers that know the config", async () => {
    await project.put({ ...TYPED, "typed/tsconfig.json": tsconfig("nodenext") });
    const { output } = await project.run(process.execPath, TSC, "-p", "typed", "--pretty", "false");
    const found = [...output.matchAll(/^(\S+)\((\d+),\d+\): error/gm)].map(
      ([, file, line]) => `${file} ${line}`,
    );
    const lines = TYPED["typed/probe.ts"].split("\n");
    const wrong = lines.flatMap((text, index) =>
      text.includes("// wrong") ? [`typed/probe.ts ${index + 1}`] : [],
    );
    expect(wrong).toHaveLength(6);
    expect([...new Set(found)]).toEqual(wrong);
  });
});

const VITEST = `declare module "vitest" {
  export const test: (name: string, run: () => Promise<void>) => void;
  export const expect: (value: unknown) => { toBe(expected: unknown): void };
}
`;

function inFolder(folder: string, files: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...files].map(([name, text]) => [`${folder}/${name}`, text]));
}

function namesIn(schema: { properties?: unknown }): string[] {
  return Object.entries(
    (schema.properties ?? {}) as Record<string, { properties?: unknown }>,
  ).flatMap(([name, nested]) => [name, ...namesIn(nested)]);
}
