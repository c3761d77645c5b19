import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { packedManifest } from "./packed-manifest.mjs";
import { findWorkspaces } from "./workspaces.mjs";

/** The parts that a user installs: the library, and the command with all that it runs. */
const LIBRARY = "millrace";
const ENTRIES = [LIBRARY, "@millrace/cli"];
/** The files of a workspace that run, or that running files read. */
const KEPT = new Set(["bundle", "dist", "bin", "migrations"]);
/** Files that the bundle stands for: `dist` without the page and the types of the library. */
const CODE = /^dist[/\\](?!page[/\\]).*\.js$/;
const TYPES = /\.d\.ts$/;
const INTERNAL = /"(@millrace\/[^"/]+)((?:\/[^"]*)?)"/g;

/**
 * Puts the bundle and the types of the built workspaces into one package: each in `lib/<name>`,
 * laid out as in the repository, so that files that are read by path (migrations, the page, the
 * command) are found. Imports of other workspaces become paths. Gives the package's manifest.
 */
export function stagePackage(root, folder) {
  const all = findWorkspaces(root);
  const workspaces = closureOf(all, ENTRIES);
  const typed = closureOf(all, [LIBRARY]);
  for (const [name, workspace] of workspaces) {
    const target = join(folder, "lib", workspace.short);
    for (const path of filesOf(workspace, typed.has(name))) {
      put(join(workspace.folder, path), join(target, path), (text, to) =>
        withPaths(text, { to, folder, workspaces }),
      );
    }
    const { type, version } = workspace.manifest;
    writeJson(join(target, "package.json"), { type, version });
  }
  // For `redis-server --aclfile`.
  const users = join("infra", "redis", "users.acl");
  put(join(root, users), join(folder, users));
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  copyFileSync(join(root, "packages", "millrace", "README.md"), join(folder, "README.md"));
  const manifest = packedManifest(root, workspaces);
  writeJson(join(folder, "package.json"), manifest);
  return manifest;
}

/** The entries and every workspace that they depend on, by name. */
function closureOf(all, entries) {
  const found = new Map();
  const queue = [...entries];
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const workspace = all.get(name);
    if (workspace === undefined || found.has(name)) continue;
    found.set(name, { ...workspace, short: basename(name) });
    queue.push(...Object.keys(workspace.manifest.dependencies ?? {}));
  }
  return found;
}

function filesOf({ folder, manifest }, isTyped) {
  const isDoor = JSON.stringify(manifest.exports ?? {}).includes("/testing/");
  return (
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .filter((path) => KEPT.has(path.split(sep)[0]))
      .filter((path) => !/\.(map|tsbuildinfo)$/.test(path) && !CODE.test(path))
      .filter((path) => (isTyped || !TYPES.test(path)) && path !== join("bundle", "stamp"))
      // Helpers that the workspace's own tests share.
      .filter((path) => isDoor || !path.split(sep).includes("testing"))
  );
}

function put(from, to, rewrite) {
  mkdirSync(dirname(to), { recursive: true });
  // With its mode, for the command.
  copyFileSync(from, to);
  if (!/\.([cm]?js|d\.[cm]?ts)$/.test(to)) return;
  writeFileSync(to, rewrite(readFileSync(from, "utf8"), to));
}

function withPaths(text, { to, folder, workspaces }) {
  const paths = text
    // From the bundle or to it: `lib` has one folder for all workspaces.
    .replaceAll(
      /"((?:\.\.\/){2,})\.\.\/(?:apps|packages|infra)\/(?=[^"]+\/(?:dist|bundle)\/)/g,
      '"$1',
    )
    .replace(/\n?\/\/# sourceMappingURL=.*\n?$/, "\n")
    .replaceAll(INTERNAL, (_, name, subpath) => {
      const workspace = workspaces.get(name);
      if (workspace === undefined) throw new Error(`Cannot pack: ${to} needs ${name}`);
      const target = join(folder, "lib", workspace.short, entryPointOf(workspace, subpath));
      const path = relative(dirname(to), target).split(sep).join("/");
      return JSON.stringify(path.startsWith(".") ? path : `./${path}`);
    });
  // Older compilers resolve the name of the built file, not that of its source.
  return to.endsWith(".d.ts")
    ? paths.replaceAll(/(["'])(\.\.?\/[^"']*)\.ts\1/g, "$1$2.js$1")
    : paths;
}

function entryPointOf({ manifest }, subpath) {
  const entryPoint = manifest.exports?.[`.${subpath}`];
  return typeof entryPoint === "object" ? entryPoint.default : (entryPoint ?? `.${subpath}`);
}

function writeJson(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
