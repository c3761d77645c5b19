import { randomBytes } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";

/** Gives a file its name when it is whole, so that several processes can do this at once. */
export async function replaceFile(
  path: string,
  create: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = `${path}.tmp-${randomBytes(6).toString("hex")}`;
  try {
    await create(draft);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Writes a file that its owner alone reads, whole or not at all, also on a power loss. */
export const writePrivateFile = (path: string, text: string): Promise<void> =>
  replaceFile(path, (draft) => writeFile(draft, text, { mode: 0o600, flag: "wx", flush: true }));
