import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { BINARIES_PACKAGE } from "./find-binaries.ts";

test("The package to install is the one that the manifest pins", () => {
  const manifest = createRequire(import.meta.url)("../package.json") as {
    optionalDependencies: Record<string, string>;
  };
  const pinned = Object.entries(manifest.optionalDependencies).map((entry) => entry.join("@"));
  expect(pinned).toContain(BINARIES_PACKAGE);
});
