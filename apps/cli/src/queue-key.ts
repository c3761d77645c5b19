import { isQueueKey, makeQueueKey, MillraceError } from "@millrace/core";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Settings } from "./context.ts";
import { writePrivateFile } from "./write-private-file.ts";

/** The key that `millrace start` made for jobs on Redis; undefined when there is none to read. */
export async function readQueueKey(dataDir: string): Promise<string | undefined> {
  const path = keyPath(dataDir);
  let text: string;
  try {
    text = (await readFile(path, "utf8")).trim();
  } catch {
    return undefined;
  }
  if (isQueueKey(text)) return text;
  throw new MillraceError(
    "invalid_config",
    `Cannot read the key of jobs: ${path} has no key. Remove it to create a new one`,
  );
}

/** The environment's key of jobs, or one that is made once and kept in `queue-key` (0600). */
export async function ensureQueueKey({ environment, dataDir }: Settings): Promise<string> {
  const known = environment.MILLRACE_QUEUE_KEY ?? (await readQueueKey(dataDir));
  if (known !== undefined) return known;
  const created = makeQueueKey();
  await writePrivateFile(keyPath(dataDir), `${created}\n`);
  return created;
}

function keyPath(dataDir: string): string {
  return join(dataDir, "queue-key");
}
