import { isUtf8 } from "node:buffer";
import { createReadStream, createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import type { ArchivedRow } from "@millrace/ledger";

/** Writes events as gzip-compressed JSON lines into a new file, and forces it to disk. */
export async function writeArchive(
  path: string,
  pages: AsyncIterable<readonly ArchivedRow[]>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const sink = createWriteStream(path, { flags: "wx", mode: 0o640 });
  await pipeline(Readable.from(lines(pages)), createGzip(), sink, signal ? { signal } : {});
  await forceToDisk(path);
}

/** Works for a file and a folder. */
export async function forceToDisk(path: string): Promise<void> {
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

/** Reads an archive to its end and counts its events; throws when it is damaged or missing. */
export async function countArchived(path: string, signal?: AbortSignal): Promise<number> {
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
