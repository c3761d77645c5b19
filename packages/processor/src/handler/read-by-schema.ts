import { MillraceError, parsePayload, type Handler, type JsonPayload } from "@millrace/core";

export interface EventPayload {
  readonly value: JsonPayload;
}

type Schema = NonNullable<Handler["schema"]>;

/** Reads a body by a schema. @throws `payload_mismatch`; the schema's own errors */
export async function readBySchema(schema: Schema, body: Uint8Array): Promise<EventPayload> {
  // Each schema gets its own value, because it can change it.
  const parsed = parsePayload(body);
  if (parsed === undefined) {
    throw mismatch(`the body (${body.byteLength} bytes) is not JSON in UTF-8`);
  }
  const result = await schema["~standard"].validate(parsed.value);
  if (result.issues === undefined) return { value: result.value };
  const { value } = parsePayload(body) ?? parsed;
  const faults = result.issues.map((issue) => {
    const keys = (issue.path ?? []).map((one) => (typeof one === "object" ? one.key : one));
    return `${pathText(keys)} (${expectedBy(issue)}got ${typeAt(value, keys)})`;
  });
  throw mismatch(`its payload is not as the handler's schema says at ${listed(faults)}`);
}

function mismatch(reason: string): MillraceError {
  return new MillraceError("payload_mismatch", `Cannot handle the event: ${reason}`);
}

/** The part of an issue that names a type, as zod, valibot, and arktype have it: no value. */
function expectedBy(issue: object): string {
  const { expected, code } = issue as { expected?: unknown; code?: unknown };
  if (typeof expected === "string") return `expected ${cut(expected)}, `;
  return typeof code === "string" ? `${cut(code)}, ` : "";
}

function typeAt(payload: unknown, keys: readonly PropertyKey[]): string {
  const value = keys.reduce<unknown>((at, key) => Reflect.get(Object(at), key), payload);
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

const PATHS_MAX = 10;
const PATH_CHARS_MAX = 100;

function pathText(keys: readonly PropertyKey[]): string {
  const text = keys
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "");
  return text === "" ? "the payload itself" : cut(text);
}

function cut(text: string): string {
  return text.length > PATH_CHARS_MAX ? `${text.slice(0, PATH_CHARS_MAX)}...` : text;
}

function listed(paths: readonly string[]): string {
  const unique = [...new Set(paths)];
  const more = unique.length - PATHS_MAX;
  return [...unique.slice(0, PATHS_MAX), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
