// `npm run release:check`: what the owner must do before a release. `--write` puts the owner that
// package.json names into the other files that need it.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readOptions } from "./read-options.mjs";
import { readRepository, releaseProblems } from "./release-problems.mjs";

const HELP = `Usage: npm run release:check -- [options]

Lists what stands in the way of a release, and exits with 1 if there is anything.

  --write     put the owner of \`repository\` in package.json into .github/CODEOWNERS
  -h, --help  this text`;

const { write } = readOptions({ write: { type: "boolean", default: false } }, HELP);
const root = dirname(dirname(fileURLToPath(import.meta.url)));
if (write) {
  const path = join(root, ".github", "CODEOWNERS");
  const { owner } = readRepository(root);
  writeFileSync(path, readFileSync(path, "utf8").replaceAll(/@[\w-]+/g, `@${owner}`));
}
const problems = releaseProblems(root);
for (const problem of problems) console.log(problem);
console.log(problems.length === 0 ? "Ready to release" : `${problems.length} to do`);
process.exit(problems.length === 0 ? 0 : 1);
