// `npm run release`: packs, installs the package in an empty folder, builds the site and the image,
// and publishes. `--dry-run` does everything but publish.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runNpm } from "./npm.mjs";
import { readOptions } from "./read-options.mjs";
import { readRepository, releaseProblems } from "./release-problems.mjs";
import { runCommand } from "./run-command.mjs";

const HELP = `Usage: npm run release -- [options]

Makes a release from this commit: package, site, image. CI runs it for a signed tag.

  --dry-run   do everything but publish; what stands in the way of a release is only printed
  -h, --help  this text`;

const { "dry-run": isDry } = readOptions({ "dry-run": { type: "boolean", default: false } }, HELP);
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const problems = releaseProblems(root);
for (const problem of problems) console.log(`To do: ${problem}`);
if (problems.length > 0 && !isDry) process.exit(1);

const { version } = readRepository(root);
const tarball = join(root, "dist", `millrace-${version}.tgz`);
const scratch = mkdtempSync(join(tmpdir(), "millrace-release-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

await step("package", () => script("pack.mjs"));
await step("install", async () => {
  const quiet = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
  const installed = await runNpm(scratch, ["install", "--prefix", scratch, ...quiet, tarball]);
  if (installed.code !== 0) return installed;
  const bin = join(scratch, "node_modules", ".bin", "millrace");
  const said = await runCommand(bin, ["--version"], { cwd: scratch, capture: true });
  if (said.code !== 0 || said.output.trim() !== version) return { ...said, code: 1 };
  return await runCommand(bin, ["init"], { cwd: scratch, capture: true });
});
await step("site", () => script("docs.mjs"));
const engine = await runCommand("docker", ["info"], { capture: true });
if (engine.code === 0) {
  const image = ["build", "-f", "infra/Dockerfile", "-t", `millrace:${version}`, "."];
  await step("image", () => runCommand("docker", image, { cwd: root, capture: true }));
} else {
  console.log("image: not built, because no engine answers");
}
const publish = ["publish", tarball, "--access", "public"];
// Provenance needs the identity that CI has.
await step(isDry ? "publish (dry run)" : "publish", () =>
  runNpm(root, [...publish, isDry ? "--dry-run" : "--provenance"]),
);
console.log(`${isDry ? "Tried" : "Released"} ${version}`);

function script(name) {
  const path = join(root, "scripts", name);
  return runCommand(process.execPath, [path], { cwd: root, capture: true });
}

async function step(name, run) {
  const started = Date.now();
  const { code, output, error } = await run();
  console.log(
    `${name}: ${code === 0 ? "good" : "FAILED"}, ${Math.round((Date.now() - started) / 1000)} s`,
  );
  if (code === 0) return;
  console.error(error?.message ?? output);
  process.exit(code);
}
