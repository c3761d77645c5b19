import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const OWNER = "OWNER";

/** The address of the repository and its owner, as the root manifest names them. */
export function readRepository(root) {
  const { repository, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const [, owner = ""] = /^https:\/\/github\.com\/([^/]+)\/[^/]+$/.exec(repository) ?? [];
  return { repository, owner, version, isSet: owner !== "" && owner !== OWNER };
}

/** The obstacles to a release, a sentence each. */
export function releaseProblems(root) {
  const read = (path) => readFileSync(join(root, path), "utf8");
  const { owner, version, isSet } = readRepository(root);
  const problems = [];
  if (!isSet) {
    problems.push("package.json: put the repository's owner in place of OWNER in `repository`");
  }
  if (!read(".github/CODEOWNERS").includes(`@${owner}`)) {
    problems.push(".github/CODEOWNERS: run `npm run release:check -- --write`");
  }
  const released = JSON.parse(read("packages/millrace/package.json")).version;
  if (released !== version) {
    problems.push(`package.json: version ${version} is not that of packages/millrace, ${released}`);
  }
  const [, section = ""] = read("CHANGELOG.md").split(/^## /m);
  if (!section.startsWith(version)) problems.push(`CHANGELOG.md: begin it with ${version}`);
  if (section.includes("Not published yet")) {
    problems.push(`CHANGELOG.md: take "Not published yet" out of ${version}`);
  }
  const waiting = readdirSync(join(root, ".changeset")).filter((name) =>
    /^(?!README).+\.md$/.test(name),
  );
  if (waiting.length > 0) {
    problems.push(`.changeset: run \`npm run release:version\` for ${waiting.join(", ")}`);
  }
  const changed = execFileSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" });
  if (changed !== "") problems.push("git: commit or remove what has changed");
  return problems;
}
