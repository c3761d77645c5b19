import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import dockerignore from "@balena/dockerignore";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export async function readIgnore(): Promise<(path: string) => boolean> {
  const ignore = dockerignore.default().add(await readFile(join(ROOT, ".dockerignore"), "utf8"));
  return (path) => ignore.ignores(path);
}

// Not looked into: their thousands of files are asked about by name, in a test of their own.
const HEAVY = new Set(["node_modules", ".git", ".turbo", ".millrace", "dist"]);

export async function contextFiles(): Promise<string[]> {
  const isIgnored = await readIgnore();
  const files = await filesBelow("");
  return files.filter((path) => !isIgnored(path));
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { withFileTypes: true });
  const found = entries.map(async (entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return [path];
    return HEAVY.has(entry.name) ? [] : await filesBelow(path);
  });
  return (await Promise.all(found)).flat();
}
