import { removeRun, writeRun, type Run } from "../run-file.ts";

/** Keeps `run.json` in step with what runs. */
export interface RunKeeper {
  /** Writes the file as things stand now. */
  update(): void;
  /** Removes it, and writes it no more. */
  remove(): Promise<void>;
}

/** @param current - the run as it stands; called for each write. */
export function createRunKeeper(dataDir: string, current: () => Run): RunKeeper {
  // One after the other, so that an older state never lands on a newer one.
  let last: Promise<void> = Promise.resolve();
  let removed = false;
  return {
    update() {
      if (removed) return;
      // A full disk must not end what runs; other commands then do without the file.
      last = last.then(() => writeRun(dataDir, current())).catch(() => {});
    },
    async remove() {
      removed = true;
      await last;
      await removeRun(dataDir);
    },
  };
}
