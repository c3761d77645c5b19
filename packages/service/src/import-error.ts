import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { MillraceError, type ErrorCode } from "@millrace/core";
import { reasonOf } from "./error-log.ts";

/** Millrace's own packages, where they are not among `node_modules`. */
const MILLRACE = fileURLToPath(new URL("../..", import.meta.url));

export function importError(code: ErrorCode, problem: string, error: unknown): MillraceError {
  const position = positionOf(error);
  const where = position === undefined ? "" : ` (${position})`;
  return new MillraceError(code, `${problem}: ${reasonOf(error)}${where}`, { cause: error });
}

function positionOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return positionOfImport(error) ?? (error.stack ?? "").split("\n").flatMap(positionIn)[0];
}

/** The import of a module that is not there has no line in the stack. */
function positionOfImport(error: Error & { requireStack?: readonly string[] }): string | undefined {
  const [importer] = error.requireStack ?? [];
  const [, name] = /^Cannot find (?:module|package) '([^']+)'/.exec(error.message) ?? [];
  if (importer === undefined || name === undefined) return importer;
  const [before = "", after] = readFileSync(importer, "utf8").split(name, 2);
  return after === undefined ? importer : `${importer}:${before.split("\n").length}`;
}

function positionIn(line: string): readonly string[] {
  const [, url = ""] = /^(?:\s+at .*?\(?)?((?:file:\/\/)?\/[^()]*:\d+)\)?$/.exec(line) ?? [];
  const position = url.replace(/^file:\/\//, "");
  const isOwn =
    position !== "" && !position.includes("/node_modules/") && !position.startsWith(MILLRACE);
  return isOwn ? [position] : [];
}
