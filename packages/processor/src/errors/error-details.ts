import { basename, isAbsolute, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { hideSecrets, identifyError, type ErrorDetails, type StackFrame } from "@millrace/core";
import { isConflict } from "@millrace/ledger";
import { mapSourcePosition } from "source-map-support";
import type { FailedAttempt, RetryDecision } from "../job/retry-policy.ts";

export interface KeptOptions {
  readonly stack: boolean;
  readonly projectDir: string;
  readonly secrets: readonly string[];
}

/** Undefined for an attempt that was taken over, or given back for what no handler caused. */
export function errorDetails(
  { code, message, counts }: RetryDecision,
  failed: FailedAttempt | undefined,
  options: KeptOptions,
  boundBy?: Error,
): ErrorDetails | undefined {
  // In an attempt that was broken off, the handler's error is a consequence.
  const isHandlers = failed?.thrownByHandler === true && failed.abortReason === undefined;
  // A deadlock or a lock timeout uses up no attempt, though the handlers' statements cause it.
  const isCaused = isHandlers && isConflict(failed.error);
  if (!(counts || isCaused) || code === "lost_claim") return undefined;
  const thrown = isHandlers ? stackFrames(failed.error, options) : [];
  // A timeout, a thrown string, and a schema have no line of their own.
  const isWithout = !thrown.some(isOwn) && (isHandlers || code === "handler_timeout");
  const bound = isWithout ? stackFrames(boundBy, options).find(isOwn) : undefined;
  const stack = bound === undefined ? thrown : [...thrown, bound];
  const frame = stack.find(isOwn);
  const { lines = [], dropped = 0 } = failed?.log?.last(options.secrets) ?? {};
  const identity = identifyError({ code, text: message, frame });
  return { ...identity, stack: options.stack ? stack : [], log: lines, logDropped: dropped };
}

const isOwn = ({ own }: StackFrame) => own;

const FRAMES_MAX = 32;
const STACK_CHARS_MAX = 32_768;
const NAME_CHARS_MAX = 200;
const CAUSES_MAX = 4;

/** Millrace's own packages, where they are not among `node_modules`. */
const MILLRACE = fileURLToPath(new URL("../../..", import.meta.url));

type FrameOptions = Pick<KeptOptions, "projectDir"> & Partial<KeptOptions>;

/**
 * Never reads the message, and never throws. The project's own code is shown by its source map;
 * without a frame of it, the first cause that has one counts.
 */
export function stackFrames(error: unknown, options: FrameOptions): readonly StackFrame[] {
  let first: readonly StackFrame[] = [];
  try {
    let link = error;
    for (let depth = 0; depth < CAUSES_MAX && link instanceof Error; depth += 1) {
      const frames = framesOf(link, options);
      if (frames.some(isOwn)) return frames;
      if (first.length === 0) first = frames;
      link = link.cause;
    }
  } catch {}
  return first;
}

function framesOf(error: Error, options: FrameOptions): readonly StackFrame[] {
  const { stack, message } = error;
  if (typeof stack !== "string") return [];
  // A message can have lines that look like calls. `toFrame` drops most others.
  const at = typeof message === "string" && message !== "" ? stack.indexOf(message) : -1;
  const calls = stack.slice(at === -1 ? 0 : at + message.length).slice(0, STACK_CHARS_MAX);
  const known = knownFrames(options);
  let frames = known.get(calls);
  if (frames !== undefined) return frames;
  const lines = calls.split("\n", 200).filter((line) => line.startsWith("    at "));
  frames = lines.flatMap((line) => toFrame(line.slice(7), options)).slice(0, FRAMES_MAX);
  known.set(calls, frames);
  return frames;
}

const KNOWN_MAX = 200;
const allKnown = new WeakMap<FrameOptions, Map<string, readonly StackFrame[]>>();

/** Of many failures at one line each has the same stack, and reading it takes a while. */
function knownFrames(options: FrameOptions): Map<string, readonly StackFrame[]> {
  let known = allKnown.get(options);
  if (known === undefined || known.size >= KNOWN_MAX) {
    known = new Map();
    allKnown.set(options, known);
  }
  return known;
}

/** V8's names of functions: `async ship`, `new Order`, `Object.<anonymous>`, `run [as charge]`. */
const FUNCTION_NAME = /^[\p{L}\p{N}_$.<>#[\] ]+$/u;

/** Other text can be a part of a message, and is dropped. */
function toFrame(call: string, { projectDir, secrets }: FrameOptions): StackFrame[] {
  const named = call.endsWith(")") ? call.indexOf(" (") : -1;
  const name = named === -1 ? null : call.slice(0, named);
  const position = named === -1 ? call.replace(/^async /, "") : call.slice(named + 2, -1);
  const [, ran, line, column] = /^(.{1,1000}?)(?::(\d{1,9}))?(?::(\d{1,9}))?$/.exec(position) ?? [];
  if (ran === undefined || !/^(?:file:\/\/|node:[\w/]+$|[\\/]|[A-Za-z]:[\\/])/.test(ran)) return [];
  const at = toPlace(ran, line, column, projectDir);
  const { path, own } = toPath(at.file, projectDir);
  const shown = name !== null && FUNCTION_NAME.test(name) ? hideSecrets(name, secrets) : null;
  const file = hideSecrets(path.slice(-500), secrets);
  return [{ ...at, file, function: shown?.slice(0, NAME_CHARS_MAX) ?? null, own }];
}

/** The position in the source, if a source map is next to the compiled file or within it. */
function toPlace(ran: string, lineText = "", columnText = "", projectDir: string) {
  const file = ran.startsWith("file://") ? fileURLToPath(ran) : ran;
  const line = lineText === "" ? null : Number(lineText);
  const column = columnText === "" ? null : Number(columnText);
  const ranAt = { file, line, column };
  if (line === null || !isAbsolute(file) || !toPath(file, projectDir).own) return ranAt;
  try {
    const found = mapSourcePosition({ source: file, line, column: Math.max(0, (column ?? 1) - 1) });
    // Also where Node maps stacks itself (`--enable-source-maps`).
    if (found.source === file) return ranAt;
    const source = found.source.replace(/^file:\/\//, "");
    // A bundle names its sources by a URL, such as `webpack://`, below the project.
    const named = /\/[a-z][a-z-]+:\/[^/]*\/([^?]*)/.exec(source)?.[1];
    const original = named === undefined ? source : resolve(projectDir, named);
    return { file: original, line: found.line, column: found.column + 1 };
  } catch {
    return ranAt;
  }
}

function toPath(path: string, projectDir: string): { path: string; own: boolean } {
  const dependency = path.lastIndexOf(`node_modules${sep}`);
  if (dependency !== -1) return { path: path.slice(dependency), own: false };
  if (!isAbsolute(path)) return { path, own: false };
  const inProject = relative(projectDir, path);
  const isOutside = inProject.startsWith("..") || isAbsolute(inProject);
  if (isOutside) return { path: basename(path), own: false };
  return { path: inProject, own: !path.startsWith(MILLRACE) };
}
