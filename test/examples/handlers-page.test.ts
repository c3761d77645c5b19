import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPageProject, type PageProject } from "../support/page-project.ts";
import { samplesOf } from "../support/samples.ts";
import { FURTHER_TESTS } from "./handlers-page-tests.ts";

// The samples of docs/handlers.md are one project: each begins with the name of its file.

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

describe("the samples of the page on handlers", () => {
  let project: PageProject;
  let files: ReadonlyMap<string, string>;

  beforeAll(async () => {
    files = samplesOf(await readFile(join(ROOT, "docs/handlers.md"), "utf8"));
    project = await createPageProject(new Map([...files, ["further.test.ts", FURTHER_TESTS]]));
  });
  afterAll(() => project?.remove());

  test("are all there: every code block belongs to the project", async () => {
    const page = await readFile(join(ROOT, "docs/handlers.md"), "utf8");
    expect(files.size).toBe(17);
    expect(page.match(/^```\w+$/gm)).toHaveLength(files.size);
  });

  test("compile", async () => {
    expect(await project.compile()).toEqual({ code: 0, output: "" });
  });

  test("run, and do what the page says", async () => {
    const { failures, ...report } = await project.test();
    expect(failures).toEqual([]);
    expect(report).toEqual({ success: true, numPassedTests: 11 });
  });
});
