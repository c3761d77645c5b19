import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The repository's workspaces by name, each with its folder (absolute) and its manifest. */
export function findWorkspaces(root) {
  const patterns = readJson(join(root, "package.json")).workspaces;
  const folders = patterns.flatMap((pattern) => {
    if (!pattern.endsWith("/*")) return [pattern];
    const parent = pattern.slice(0, -2);
    if (!existsSync(join(root, parent))) return [];
    return readdirSync(join(root, parent)).map((name) => join(parent, name));
  });
  const found = folders
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(join(folder, "package.json")))
    .map((folder) => ({ folder, manifest: readJson(join(folder, "package.json")) }));
  return new Map(found.map((workspace) => [workspace.manifest.name, workspace]));
}

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}
