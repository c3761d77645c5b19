// `npm run pack`: one publishable package of all workspaces, `dist/millrace`, and its tarball.
// `--out <folder>` puts them elsewhere. decisions/020-one-npm-package.md says why it is made like
// this.
import { readFileSync, writeFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { build } from "./build.mjs";
import { runNpm } from "./npm.mjs";
import { readOptions } from "./read-options.mjs";
import { stagePackage } from "./stage-package.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const values = readOptions(
  { out: { type: "string", default: join(root, "dist") } },
  `Usage: npm run pack -- [options]

Makes one package of all workspaces, to install or to publish: a folder \`millrace\` and its tarball.

  --out <folder>  where to (default: dist)
  -h, --help      this text`,
);
const out = resolve(values.out);
const folder = join(out, "millrace");

if (!(await build(root))) process.exit(1);
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const manifest = stagePackage(root, folder);

// The packages of other people that it runs with, those in the bundle too, as CycloneDX. It names
// no time and no folder, so that a package is the same each time.
const listed = await runNpm(root, [
  ...["sbom", "--sbom-format=cyclonedx", "--omit=dev", "--package-lock-only", "--loglevel=error"],
  ...["--workspace=packages/millrace", "--workspace=apps/cli"],
]);
if (listed.code !== 0) {
  console.error(`Cannot list the dependencies: ${listed.error?.message ?? listed.output}`);
  process.exit(1);
}
const { metadata, serialNumber: _, components, ...bom } = JSON.parse(listed.output);
const bundled = JSON.parse(
  readFileSync(join(root, "packages", "millrace", "bundle", "packages.json"), "utf8"),
);
const required = Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies }).map(
  ([name, range]) => ({ name, version: range.replace("^", "") }),
);
/** @type {{ name: string, version: string, license?: string }[]} */
const packages = [...bundled, ...required];
const own = packages.map(({ name, version, license }) => ({
  ...{ type: "library", name, version, purl: `pkg:npm/${name.replace("@", "%40")}@${version}` },
  ...(license !== undefined && { licenses: [{ license: { id: license } }] }),
}));
const known = new Set(components.map(({ purl }) => purl));
const all = [...components, ...own.filter(({ purl }) => !known.has(purl))];
const component = { type: "library", name: manifest.name, version: manifest.version };
writeFileSync(
  join(folder, "sbom.cdx.json"),
  `${JSON.stringify({ ...bom, metadata: { tools: metadata.tools, component }, components: all }, null, 2)}\n`,
);

const { messages } = await publint({ pkgDir: folder, strict: true, pack: false });
for (const message of messages) console.error(formatMessage(message, manifest));
if (messages.length > 0) process.exit(1);

const packed = await runNpm(root, ["pack", folder, "--pack-destination", out, "--loglevel=error"]);
if (packed.code !== 0) {
  console.error(`Cannot pack: ${packed.error?.message ?? packed.output}`);
  process.exit(1);
}
console.log(join(out, `${manifest.name}-${manifest.version}.tgz`));
