import type { Message } from "./signature-algorithm.ts";

/** What a template's placeholders stand for; `id` and `ts` are text as it came in a header. */
export interface MessageParts {
  readonly id: string;
  readonly ts: string;
  readonly body: Uint8Array;
}

export interface MessageTemplate {
  readonly usesId: boolean;
  readonly usesTimestamp: boolean;
  /** False for an id whose end could be moved: `a.b` where `.` stands beside `{id}`. */
  isBounded(id: string): boolean;
  build(parts: MessageParts): Message;
}

type Placeholder = keyof MessageParts;
type Segment = { readonly literal: string } | { readonly placeholder: Placeholder };

/**
 * Text of printable ASCII in which `{id}` and `{ts}` may stand once, and `{body}` does. `{id}` wants
 * text between itself and the next placeholder, or one could grow at the cost of the other.
 */
export function isMessageTemplate(text: string): boolean {
  const names = text.match(/\{[^{}]*\}/g) ?? [];
  return (
    /^[\x20-\x7e]*$/.test(text) &&
    !/[{}]/.test(text.replaceAll(/\{(?:id|ts|body)\}/g, "")) &&
    text.includes("{body}") &&
    !/\{id\}\{|\}\{id\}/.test(text) &&
    new Set(names).size === names.length
  );
}

/** Whether nothing stands between `{id}` and the next placeholder, so that one could take from it. */
export function isIdUnbounded(text: string): boolean {
  return /\}\{id\}|\{id\}\{/.test(text);
}

/** Makes a template ready: `{ts}.{body}`. It must be one (`isMessageTemplate`). */
export function compileTemplate(text: string): MessageTemplate {
  const segments = text
    .split(/(\{(?:id|ts|body)\})/)
    .filter((piece) => piece !== "")
    .map(segmentOf);
  const at = segments.findIndex((segment) => isPlaceholder(segment, "id"));
  const before = literalOf(segments[at - 1]);
  const after = literalOf(at === -1 ? undefined : segments[at + 1]);

  return {
    usesId: at !== -1,
    usesTimestamp: segments.some((segment) => isPlaceholder(segment, "ts")),
    // With "::" behind it an id must not hold that, nor end in ":", which would begin it early.
    isBounded: (id) =>
      (before === "" || (before + id).lastIndexOf(before) === 0) &&
      (after === "" || (id + after).indexOf(after) === id.length),
    build: (parts) => buildMessage(segments, parts),
  };
}

function buildMessage(segments: readonly Segment[], parts: MessageParts): Message {
  const message: (string | Uint8Array)[] = [];
  let text = "";
  for (const segment of segments) {
    const piece = "literal" in segment ? segment.literal : parts[segment.placeholder];
    if (typeof piece === "string") {
      text += piece;
      continue;
    }
    if (text !== "") message.push(text);
    message.push(piece);
    text = "";
  }
  if (text !== "") message.push(text);
  return message;
}

function segmentOf(piece: string): Segment {
  if (piece === "{id}") return { placeholder: "id" };
  if (piece === "{ts}") return { placeholder: "ts" };
  if (piece === "{body}") return { placeholder: "body" };
  return { literal: piece };
}

function literalOf(segment: Segment | undefined): string {
  return segment !== undefined && "literal" in segment ? segment.literal : "";
}

function isPlaceholder(segment: Segment, name: Placeholder): boolean {
  return "placeholder" in segment && segment.placeholder === name;
}
