import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export function executablePath(name: string, folders: readonly string[] = []): string | undefined {
  return [...(process.env["PATH"] ?? "").split(delimiter), ...folders]
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
