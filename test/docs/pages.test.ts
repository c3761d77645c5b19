import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPageProject, type PageProject } from "../support/page-project.ts";
import { projectsOf } from "../support/samples.ts";
import { PAGE_TESTS } from "./page-tests.ts";

// Every sample in TypeScript or SQL of the pages compiles, and those with a test do what the page says.
// packages/millrace/README.md is compiled as it is packed.

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string): Promise<string> => readFile(join(ROOT, path), "utf8");

async function store(): Promise<[string, string][]> {
  const names = await readdir(join(ROOT, "examples/store"), { recursive: true });
  const files = names.filter(
    (name) => /\.(ts|sql)$/.test(name) && !name.startsWith("node_modules"),
  );
  return Promise.all(
    files.map(async (name) => [`store/${name}`, await read(`examples/store/${name}`)] as const),
  ) as Promise<[string, string][]>;
}

describe("the samples of the pages", () => {
  const pages = new Map<string, string>();
  let project: PageProject;

  beforeAll(async () => {
    pages.set("readme", await read("README.md"));
    for (const name of await readdir(join(ROOT, "docs"))) {
      // test/package/tutorial.test.ts goes through those.
      if (name.startsWith("tutorial-")) continue;
      if (!name.endsWith(".md")) continue;
      // The pages on handlers share a project.
      const page = name.slice(0, -3).replace(/^handlers-.*/, "handlers");
      pages.set(page, `${pages.get(page) ?? ""}${await read(join("docs", name))}`);
    }
    const client = await read("test/fixtures/pages/generated-prisma-client.ts");
    const files = [...pages].flatMap(([page, text]) =>
      projectsOf(text).flatMap((samples, index) => {
        const folder = index === 0 ? page : `${page}-${index + 1}`;
        return [...samples].map(([name, sample]) => [`${folder}/${name}`, sample] as const);
      }),
    );
    const replayed = ([name, text]: readonly [string, string]) =>
      [name, text.replace('"millrace/testing"', '"../replayed.ts"')] as const;
    project = await createPageProject(
      new Map([
        ...[...files, ...Object.entries(PAGE_TESTS), ...(await store())].map(replayed),
        ["with-prisma-or-kysely/generated/client.ts", client],
        ["replayed.ts", await read("test/fixtures/pages/replayed.ts")],
      ]),
    );
  });
  afterAll(() => project?.remove());

  test("are all tried: each begins with the name of its file", () => {
    for (const [page, text] of pages) {
      const blocks = text.match(/^```(?:ts|sql)$/gm) ?? [];
      const samples = projectsOf(text).flatMap((files) => [...files]);
      expect([page, samples.length]).toEqual([page, blocks.length]);
    }
  });

  test("compile", async () => {
    expect(await project.compile()).toEqual({ code: 0, output: "" });
  });

  test("do what the pages say", async () => {
    const { failures, ...report } = await project.test();
    expect(failures).toEqual([]);
    expect(report).toEqual({ success: true, numPassedTests: 35 });
  });
});
