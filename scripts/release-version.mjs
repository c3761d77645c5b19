// `npm run release:version`: raises the version of all workspaces by the files in .changeset, and
// moves their sentences into the changelog.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runNpm } from "./npm.mjs";
import { readOptions } from "./read-options.mjs";
import { runChangeset } from "./run-changeset.mjs";

readOptions({}, "Usage: npm run release:version\n\nRaises the version by the files in .changeset.");
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, ".changeset");
const sentences = readdirSync(folder)
  .filter((name) => /^(?!README).+\.md$/.test(name))
  .map((name) => readFileSync(join(folder, name), "utf8").split(/^---$/m).at(-1)?.trim() ?? "");
if (sentences.length === 0) {
  console.error("No change to release: `npm run changeset` adds one");
  process.exit(1);
}
const { code } = await runChangeset(root, ["version"]);
if (code !== 0) process.exit(code);

const library = join(root, "packages", "millrace", "package.json");
const { version } = JSON.parse(readFileSync(library, "utf8"));
const manifest = join(root, "package.json");
const text = readFileSync(manifest, "utf8");
writeFileSync(manifest, text.replace(/"version": "[^"]+"/, `"version": "${version}"`));

const changelog = join(root, "CHANGELOG.md");
const entries = sentences.map((sentence) => `- ${sentence}`).join("\n");
const before = readFileSync(changelog, "utf8");
writeFileSync(changelog, before.replace(/^## /m, `## ${version}\n\n${entries}\n\n## `));
const locked = await runNpm(root, ["install", "--package-lock-only", "--loglevel=error"]);
process.exit(locked.code);
