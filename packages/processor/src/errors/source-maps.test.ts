import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transformWithEsbuild } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stackFrames } from "./error-details.ts";

// Real source maps of a real compiler, in files that Node runs as they are.

const SOURCE = `interface Order {
  id: string;
}

// A comment that the compiler leaves out.
export function ship(order: Order): never {
  throw new Error(\`No carrier for \${order.id}\`);
}
`;

let project: string;
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "millrace-maps-"));
  await mkdir(join(project, "dist"));
});
afterAll(() => rm(project, { recursive: true }));

/** Compiles the source into `dist`, and gives the top frame of its error. */
async function topFrame(name: string, sourceName: string, comment: (map: string) => string) {
  const { code, map } = await transformWithEsbuild(SOURCE, "orders.ts", { format: "cjs" });
  const json = JSON.stringify({ ...(map as object), sources: [sourceName] });
  const file = join(project, "dist", name);
  await writeFile(`${file}.map`, json);
  await writeFile(file, `${code}\n${comment(json)}\n`);
  const { ship } = createRequire(file)(file) as { ship: (order: object) => never };
  try {
    return ship({ id: "7" });
  } catch (error) {
    expect(String((error as Error).stack)).toContain(`${name}:`);
    return stackFrames(error, { projectDir: project })[0];
  }
}

const WRITTEN = { file: join("src", "orders.ts"), line: 7, function: "ship", own: true };

test.each<[string, string, string, (map: string) => string]>([
  ["beside it", "beside.cjs", "../src/orders.ts", () => "//# sourceMappingURL=beside.cjs.map"],
  [
    "within it",
    "within.cjs",
    "../src/orders.ts",
    (map) =>
      `//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}`,
  ],
  [
    "of a bundler",
    "bundle.cjs",
    "webpack://shop/./src/orders.ts",
    () => "//# sourceMappingURL=bundle.cjs.map",
  ],
])("a frame is shown as it was written, by a map %s", async (_where, name, source, comment) => {
  expect(await topFrame(name, source, comment)).toMatchObject(WRITTEN);
});

test.each<[string, string, string]>([
  ["no map", "none.cjs", ""],
  ["a map that is not there", "lost.cjs", "//# sourceMappingURL=nowhere.map"],
  ["a map that is none", "broken.cjs", "//# sourceMappingURL=data:application/json,%7B"],
])("a frame stays what it is with %s", async (_what, name, comment) => {
  expect(await topFrame(name, "../src/orders.ts", () => comment)).toMatchObject({
    ...{ file: join("dist", name), function: "ship", own: true },
  });
});

test("what a map says is of a dependency is not the project's own code", async () => {
  const comment = () => "//# sourceMappingURL=vendored.cjs.map";
  const frame = await topFrame("vendored.cjs", "../node_modules/carrier/src/index.ts", comment);
  expect(frame).toMatchObject({
    ...{ file: join("node_modules", "carrier", "src", "index.ts"), line: 7, own: false },
  });
});
