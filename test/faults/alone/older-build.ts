import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Build } from "../environment/environment.ts";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const TARBALL = at("../../fixtures/builds/millrace-0.1.0-d492738.tgz");
const FAULTS = at("../../fixtures/faults");
const INSTALLED = at("../../../node_modules");
/** What the tarball brings, and what is ours. */
const NOT_LINKED = /^(millrace|@millrace|\..*)$/;

/** The build that is committed as a packed tarball, installed in a folder of its own. */
export interface OlderBuild extends Build {
  remove(): Promise<void>;
}

/** Installs it as npm would, without a registry: its dependencies are this repository's. */
export async function installOlderBuild(): Promise<OlderBuild> {
  const root = await mkdtemp(join(tmpdir(), "millrace-older-"));
  const modules = join(root, "node_modules");
  const packed = join(modules, "millrace");
  await mkdir(packed, { recursive: true });
  const { status, stderr } = spawnSync(
    "tar",
    ["-xzf", TARBALL, "-C", packed, "--strip-components=1"],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`Cannot unpack ${TARBALL}: ${stderr}`);
  for (const name of await readdir(INSTALLED)) {
    if (!NOT_LINKED.test(name)) await symlink(join(INSTALLED, name), join(modules, name));
  }
  // Beside the package, so that its `millrace` is what the config imports.
  await cp(FAULTS, join(root, "faults"), { recursive: true });
  return {
    bin: join(packed, "lib", "cli", "bin", "millrace.mjs"),
    config: join(root, "faults", "millrace.config.ts"),
    env: { FAULTS_SETS: "off" },
    remove: () => rm(root, { recursive: true, force: true }),
  };
}
