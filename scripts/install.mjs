import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runNpm } from "./npm.mjs";
import { withLock } from "./with-lock.mjs";

/**
 * Installs the dependencies unless those of this very lockfile are there, made for this Node and
 * platform. Ends the process when it cannot.
 */
export async function install(root) {
  if (isInstalled(root)) return;
  await withLock(join(root, ".millrace", "install-lock"), async () => {
    if (isInstalled(root)) return;
    const first = !existsSync(join(root, "node_modules"));
    const expectation = first ? " (first run, about 1 min)" : "";
    console.error(`Installing dependencies${expectation}...`);
    const started = Date.now();
    // Build tools come under NODE_ENV=production too; the lockfile stays as it was checked out.
    const result = await runNpm(root, [
      ...["install", "--include=dev", "--include=optional", "--no-save"],
      ...["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"],
    ]);
    if (result.signalled) process.exit(result.code);
    if (result.code !== 0) {
      process.stderr.write(result.output);
      console.error(`Cannot install the dependencies: npm ended with ${result.code}`);
      process.exit(1);
    }
    writeFileSync(stampPath(root), fingerprint(root));
    console.error(`Installed in ${Math.round((Date.now() - started) / 1000)} s`);
  });
}

function isInstalled(root) {
  const stamp = stampPath(root);
  return existsSync(stamp) && readFileSync(stamp, "utf8") === fingerprint(root);
}

function stampPath(root) {
  return join(root, "node_modules", ".millrace-install");
}

function fingerprint(root) {
  const lock = readFileSync(join(root, "package-lock.json"));
  const machine = `${process.version} ${process.platform} ${process.arch}`;
  return createHash("sha256").update(lock).update(machine).digest("hex");
}
