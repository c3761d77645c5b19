import type { StackFrame } from "@millrace/core";
import { basename, isAbsolute, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const FRAMES_MAX = 32;
const STACK_CHARS_MAX = 32_768;
const NAME_CHARS_MAX = 200;
/** What was thrown, and the errors that caused it. */
const CAUSES_MAX = 4;

/** Millrace's own packages, where they are not among `node_modules`. */
const MILLRACE = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Reads where an error was thrown: files, lines and functions, and never the message, which V8 repeats in `stack`. Of
 * an error without a frame of the project's own code, the first cause that has one counts. Never throws.
 */
export function stackFrames(error: unknown, root = process.cwd()): readonly StackFrame[] {
  let first: readonly StackFrame[] = [];
  try {
    let link = error;
    for (let depth = 0; depth < CAUSES_MAX && link instanceof Error; depth += 1) {
      const frames = framesOf(link, root);
      if (frames.some(({ own }) => own)) return frames;
      if (first.length === 0) first = frames;
      link = link.cause;
    }
  } catch {
    // A getter or a Proxy threw.
  }
  return first;
}

function framesOf(error: Error, root: string): readonly StackFrame[] {
  const { stack, message } = error;
  if (typeof stack !== "string") return [];
  // A message may have lines that look like calls.
  const at = typeof message === "string" && message !== "" ? stack.indexOf(message) : -1;
  const calls = stack.slice(at === -1 ? 0 : at + message.length).slice(0, STACK_CHARS_MAX);
  const lines = calls.split("\n", 200).filter((line) => line.startsWith("    at "));
  return lines.flatMap((line) => toFrame(line.slice(7), root)).slice(0, FRAMES_MAX);
}

/** `name (file:1:2)`, `file:1:2`, `async name (file:1:2)`, `Array.map (<anonymous>)`. */
function toFrame(call: string, root: string): StackFrame[] {
  const named = call.endsWith(")") ? call.indexOf(" (") : -1;
  const name = named === -1 ? null : call.slice(0, named).slice(0, NAME_CHARS_MAX);
  const place = named === -1 ? call.replace(/^async /, "") : call.slice(named + 2, -1);
  const [, file, line, column] = /^(.{1,1000}?)(?::(\d{1,9}))?(?::(\d{1,9}))?$/.exec(place) ?? [];
  if (file === undefined || file.startsWith("<") || file.startsWith("index ")) return [];
  const { path, own } = toPath(file, root);
  return [
    {
      file: path.slice(-500),
      line: line === undefined ? null : Number(line),
      column: column === undefined ? null : Number(column),
      function: name,
      own,
    },
  ];
}

/** A path that says nothing of the machine, and whether it is of the project's own code. */
function toPath(file: string, root: string): { path: string; own: boolean } {
  const path = file.startsWith("file://") ? fileURLToPath(file) : file;
  const dependency = path.lastIndexOf(`node_modules${sep}`);
  if (dependency !== -1) return { path: path.slice(dependency), own: false };
  if (!isAbsolute(path)) return { path, own: false };
  const inProject = relative(root, path);
  const isOutside = inProject.startsWith("..") || isAbsolute(inProject);
  if (isOutside) return { path: basename(path), own: false };
  return { path: inProject, own: !path.startsWith(MILLRACE) };
}
