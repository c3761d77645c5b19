import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { constants, createReadStream, createWriteStream } from "node:fs";
import { access, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { failpoint, MillraceError } from "@millrace/core";
import type { ArchivedRow, BodyPartition, RetentionLedger } from "@millrace/ledger";

export function archivePath(archiveDir: string, { day }: Pick<BodyPartition, "day">): string {
  return join(archiveDir, `millrace-bodies-${day}.jsonl.gz`);
}

/** @throws `archive_failed` when archives cannot be written. */
export async function checkArchiveDir(archiveDir: string): Promise<void> {
  const folder = await stat(archiveDir).catch(() => undefined);
  if (folder?.isDirectory() !== true) {
    throw archiveFailed(`there is no folder "${archiveDir}". Make it, or mount it`);
  }
  try {
    await access(archiveDir, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw archiveFailed(`the folder "${archiveDir}" cannot be written to`, cause);
  }
}

/**
 * Writes the archive of a day, unless it exists. A file gets its name only when it is whole.
 * @throws `archive_failed`; `database_unavailable`, the signal's reason
 */
export async function archivePartition(
  { ledger, notify }: RetentionDeps,
  partition: BodyPartition,
  { archiveDir, signal }: { archiveDir: string; signal?: AbortSignal | undefined },
): Promise<void> {
  const { day } = partition;
  const expected = await ledger.countEventsOf(partition);
  const file = archivePath(archiveDir, partition);
  if (expected === 0) return;
  if ((await stat(file).catch(() => undefined)) !== undefined) {
    await requireCount(file, expected, signal);
    notify({ kind: "archived", day, events: 0, file });
    return;
  }
  await removeLeftovers(file);
  const part = `${file}.${randomUUID()}.part`;
  try {
    await write(part, ledger.archivePages(partition), signal);
    await requireCount(part, expected, signal);
    await rename(part, file);
    await forceToDisk(archiveDir);
  } finally {
    await rm(part, { force: true });
  }
  notify({ kind: "archived", day, events: expected, file });
  failpoint("retention.archived");
}

async function write(
  part: string,
  pages: AsyncIterable<readonly ArchivedRow[]>,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await writeArchive(part, pages, signal);
  } catch (error) {
    signal?.throwIfAborted();
    // An error of the file system has a syscall; an error of the ledger is thrown on as it is.
    if (!(error instanceof Error && "syscall" in error) || "severity" in error) throw error;
    throw archiveFailed(`"${part}" cannot be written: ${error.message}`, error);
  }
}

/** After the drop, the archive is the only copy of the bodies. */
async function requireCount(
  file: string,
  expected: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  let count: number;
  try {
    count = await countArchived(file, signal);
  } catch (cause) {
    signal?.throwIfAborted();
    throw archiveFailed(`"${file}" cannot be read back. Move it away if it is damaged`, cause);
  }
  if (count === expected) return;
  throw archiveFailed(
    `"${file}" has ${count} events and the ledger ${expected}. Move it away if it is another ledger's`,
  );
}

/** Removes parts that a killed process left a day ago or earlier: no write takes that long. */
async function removeLeftovers(file: string): Promise<void> {
  const prefix = `${basename(file)}.`;
  for (const name of await readdir(dirname(file))) {
    if (!name.startsWith(prefix) || !name.endsWith(".part")) continue;
    const path = join(dirname(file), name);
    const found = await stat(path).catch(() => undefined);
    const ageMs = Date.now() - (found?.mtimeMs ?? Date.now());
    if (ageMs > 86_400_000) await rm(path, { force: true });
  }
}

function archiveFailed(what: string, cause?: unknown): MillraceError {
  return new MillraceError("archive_failed", `Cannot archive bodies: ${what}`, { cause });
}

async function writeArchive(
  path: string,
  pages: AsyncIterable<readonly ArchivedRow[]>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const sink = createWriteStream(path, { flags: "wx", mode: 0o640 });
  await pipeline(Readable.from(lines(pages)), createGzip(), sink, signal ? { signal } : {});
  await forceToDisk(path);
}

async function forceToDisk(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function* lines(pages: AsyncIterable<readonly ArchivedRow[]>): AsyncGenerator<string> {
  for await (const page of pages) {
    yield page.map((event) => `${JSON.stringify(toLine(event))}\n`).join("");
  }
}

/** The exact bytes: text where they are UTF-8, else base64. */
function toLine({ event, body, ...rest }: ArchivedRow): unknown {
  const line = { ...event, ...rest };
  if (body === null) return { ...line, body: null, body_encoding: null };
  const encoding = isUtf8(body) ? "utf8" : "base64";
  return { ...line, body: body.toString(encoding), body_encoding: encoding };
}

async function countArchived(path: string, signal?: AbortSignal): Promise<number> {
  let count = 0;
  await pipeline(
    createReadStream(path),
    createGunzip(),
    async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) count += countNewlines(chunk);
    },
    signal ? { signal } : {},
  );
  return count;
}

function countNewlines(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) count += 1;
  return count;
}

export interface RetentionPolicy {
  readonly bodiesDays: number;
  readonly keysDays: number;
  /** Absolute path of the folder that bodies are written to before they are dropped. */
  readonly archiveDir?: string | undefined;
}

export interface RetentionDeps {
  readonly ledger: RetentionLedger;
  readonly notify: (notice: RetentionNotice) => void;
}

export type RetentionNotice =
  /** Bodies of events that are not completed were moved on from a day to today. */
  | {
      readonly kind: "moved";
      readonly day: string;
      readonly events: number;
      readonly bytes: number;
    }
  /** A day's archive is whole. `events` were written by this run: none when it was whole before. */
  | {
      readonly kind: "archived";
      readonly day: string;
      readonly events: number;
      readonly file: string;
    }
  | { readonly kind: "dropped"; readonly day: string; readonly bytes: number }
  | { readonly kind: "busy"; readonly day: string }
  | { readonly kind: "keys_deleted"; readonly events: number };
