import { readFileSync, statSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export interface FilePosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

const FILES_MAX = 200;
const FILE_BYTES_MAX = 16_000_000;

const maps = new Map<string, FileMap | undefined>();

interface FileMap {
  readonly map: SourceMap;
  /** The folder of the map, or its `sourceRoot`. */
  readonly folder: string;
}

/**
 * The source position, by the source map next to the compiled file or within it. Undefined without
 * a map, and where Node maps stacks itself (`--enable-source-maps`). Never throws.
 * @param compiled.file - absolute.
 * @param projectDir - the base of sources that a bundle names by a URL, such as `webpack://`.
 */
export function originalPosition(
  compiled: FilePosition,
  projectDir: string,
): FilePosition | undefined {
  try {
    const found = mapOf(compiled.file);
    const entry = found?.map.findEntry(compiled.line - 1, Math.max(0, compiled.column - 1));
    if (found === undefined || entry === undefined || !("originalSource" in entry))
      return undefined;
    const { originalSource, originalLine, originalColumn } = entry;
    const file = sourceFile(originalSource, found.folder, projectDir);
    return { file, line: originalLine + 1, column: originalColumn + 1 };
  } catch {
    return undefined;
  }
}

function mapOf(file: string): FileMap | undefined {
  if (maps.has(file)) return maps.get(file);
  if (maps.size >= FILES_MAX) maps.clear();
  let found: FileMap | undefined;
  try {
    found = readMap(file);
  } catch {}
  maps.set(file, found);
  return found;
}

function readMap(file: string): FileMap | undefined {
  const comments = read(file).matchAll(/^\/[/*][#@] sourceMappingURL=(\S{1,8000000})/gm);
  const url = [...comments].at(-1)?.[1];
  if (url === undefined) return undefined;
  const inline = /^data:application\/json[^,]{0,100},/.exec(url)?.[0];
  const mapFile = inline === undefined ? resolve(dirname(file), decodeURIComponent(url)) : file;
  const text =
    inline === undefined
      ? read(mapFile)
      : Buffer.from(
          decodeURIComponent(url.slice(inline.length)),
          inline.includes("base64") ? "base64" : "utf8",
        ).toString();
  const payload = JSON.parse(text) as ConstructorParameters<typeof SourceMap>[0];
  const folder = resolve(dirname(mapFile), pathOf(payload.sourceRoot ?? ""));
  return { map: new SourceMap(payload), folder };
}

function read(file: string): string {
  if (statSync(file).size > FILE_BYTES_MAX) throw new Error("the file is too large");
  return readFileSync(file, "utf8");
}

function sourceFile(source: string, folder: string, projectDir: string): string {
  const named = /^(?!file:)[a-z][a-z-]*:\/\/[^/]*\/(.*)$/.exec(source);
  if (named?.[1] !== undefined) return resolve(projectDir, named[1].replace(/\?.*$/, ""));
  const path = pathOf(source);
  return isAbsolute(path) ? path : resolve(folder, path);
}

function pathOf(source: string): string {
  return source.startsWith("file://") ? fileURLToPath(source) : source;
}
