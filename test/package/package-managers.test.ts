import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { BINARIES_PACKAGE } from "@millrace/embedded-postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packTarball, runIn } from "./installed-package.ts";
import { CONSUMER, PROJECT } from "./project.ts";

const MANAGERS = {
  ...{ npm: "npm@11", pnpm: "pnpm@10" },
  ...{ "Yarn 4": "@yarnpkg/cli-dist@4", "Yarn 1": "yarn@1" },
};
/** Their folders of downloads are the test's own: Yarn 1 takes a file of the same name from its. */
const FILES = { "yarn.lock": "", ".yarnrc.yml": "nodeLinker: node-modules\n" };

let home: string;
let tarball: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "millrace-managers-"));
  tarball = await packTarball(home);
}, 300_000);
afterAll(() => rm(home, { recursive: true, force: true }));

test.each(Object.entries(MANAGERS))(
  "%s installs the package without a warning, and handlers run",
  { timeout: 300_000 },
  async (name, manager) => {
    const folder = join(home, manager.replaceAll(/\W/g, "-"));
    const files = { ...PROJECT, ...CONSUMER, ...FILES, "package.json": '{ "private": true }\n' };
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    const caches = { YARN_CACHE_FOLDER: join(home, "cache") };
    const add = (...names: string[]) =>
      runIn(folder, "npx", ["-y", "--loglevel=error", manager, "add", ...names], caches);
    const added = await add(`millrace@file:${tarball}`, "drizzle-orm");
    expect(added.code).toBe(0);
    expect(added.output).not.toMatch(/warn|ignored build/i);
    // Its own script, which managers do not run unasked, is not needed.
    expect((await add(BINARIES_PACKAGE)).code).toBe(0);
    const ran = await runIn(folder, process.execPath, ["check.mjs"]);
    expect({ ...ran, name }).toMatchObject({ code: 0, output: expect.stringContaining("pi_1") });
  },
);
