import { basename } from "node:path";
import { watch, type FSWatcher } from "chokidar";

/** A save can be several writes, and can change several files. */
const SETTLED_MS = 50;
const CODE = /\.([cm]?[jt]sx?|json)$/;

export function watchProject(
  folder: string,
  dataDir: string,
  { onChange, onError }: { onChange: (path: string) => void; onError: (error: unknown) => void },
): FSWatcher {
  let settling: NodeJS.Timeout | undefined;
  const isIgnored = (path: string, stats?: { isFile(): boolean }): boolean => {
    if (path === folder) return false;
    const name = basename(path);
    if (name === "node_modules" || name.startsWith(".") || path === dataDir) return true;
    return stats?.isFile() === true && !CODE.test(name);
  };
  const watcher = watch(folder, { ignored: isIgnored, ignoreInitial: true }).on("error", onError);
  return watcher.on("all", (_, path) => {
    clearTimeout(settling);
    settling = setTimeout(onChange, SETTLED_MS, path);
  });
}
