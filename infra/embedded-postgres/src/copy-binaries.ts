import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  readFile,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  symlink,
} from "node:fs/promises";
import { dirname, join, relative } from "node:path";

/** True when the links between the libraries exist; npm makes them in an install script. */
export async function hasItsLinks(native: string): Promise<boolean> {
  for (const link of await links(native)) {
    const found = await stat(join(native, link.path)).catch(() => undefined);
    if (found === undefined) return false;
  }
  return true;
}

/**
 * Renames every file when it is whole, so several processes can do this at once.
 * @throws when the folder belongs to another user, who could change what we run
 */
export async function copyBinaries(native: string, folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o755, recursive: true });
  const owner = await lstat(folder);
  const ours =
    owner.isDirectory() && owner.uid === process.getuid?.() && (owner.mode & 0o022) === 0;
  if (!ours) throw new Error("the folder belongs to another user");
  await chmod(folder, 0o755);
  await copyFolder(native, folder);
  for (const link of await links(native)) await putLink(join(folder, link.path), link.to);
}

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) await copyFolder(source, target);
    else if (entry.isFile() && !entry.name.endsWith(".a")) await putFile(source, target);
    else if (entry.isSymbolicLink()) await putLink(target, await readlink(source));
  }
}

async function putFile(source: string, target: string): Promise<void> {
  const wanted = await stat(source);
  const found = await lstat(target).catch(() => undefined);
  if (found?.isFile() === true && found.size === wanted.size) return;
  await put(target, async (temporary) => {
    await copyFile(source, temporary, constants.COPYFILE_FICLONE);
    await chmod(temporary, (wanted.mode & 0o111) === 0 ? 0o644 : 0o755);
  });
}

async function putLink(path: string, to: string): Promise<void> {
  const found = await readlink(path).catch(() => undefined);
  if (found !== to) await put(path, (temporary) => symlink(to, temporary));
}

async function put(target: string, make: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${target}.tmp-${randomBytes(6).toString("hex")}`;
  try {
    await make(temporary);
    await rename(temporary, target);
  } finally {
    await rm(temporary, { force: true });
  }
}

// The package lists its links as `native/lib/libpq.so.5.18` (source) and `native/lib/libpq.so.5`.
async function links(native: string): Promise<{ path: string; to: string }[]> {
  const text = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const listed = JSON.parse(text) as { source: string; target: string }[];
  return listed.map(({ source, target }) => ({
    path: relative("native", target),
    to: relative(dirname(target), source),
  }));
}
