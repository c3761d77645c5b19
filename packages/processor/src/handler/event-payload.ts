import {
  MillraceError,
  parsePayload,
  PermanentError,
  textAt,
  type Handler,
  type JsonPayload,
} from "@millrace/core";

export interface EventPayload {
  readonly value: JsonPayload;
}

/** The payload of a handler without a schema: the body, parsed once, on first use. */
export class ParsedBody implements EventPayload {
  readonly #body: Uint8Array;
  #parsed: { readonly value: unknown } | undefined;

  constructor(body: Uint8Array) {
    this.#body = body;
  }

  get value(): JsonPayload {
    return (this.#parsed ??= parse(this.#body)).value;
  }
}

/** Reads values' texts as they were sent. @throws PermanentError for a body that is no JSON */
export function textReader(body: Uint8Array): (path: string) => string | undefined {
  let parsed: ReturnType<typeof parse> | undefined;
  return (path) => textAt((parsed ??= parse(body)).text, path);
}

// The parser's message quotes the body, and the dashboard shows messages.
function parse(body: Uint8Array) {
  const parsed = parsePayload(body);
  if (parsed !== undefined) return parsed;
  throw new PermanentError(
    `Cannot read event.payload: the body (${body.byteLength} bytes) is not JSON in UTF-8; read event.body instead`,
  );
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
  const paths = result.issues.map(({ path }) => pathText(path ?? []));
  throw mismatch(`its payload is not as the handler's schema says at ${listed(paths)}`);
}

function mismatch(reason: string): MillraceError {
  return new MillraceError("payload_mismatch", `Cannot handle the event: ${reason}`);
}

type Path = readonly (PropertyKey | { readonly key: PropertyKey })[];

const PATHS_MAX = 10;
const PATH_CHARS_MAX = 100;

function pathText(path: Path): string {
  const keys = path.map((segment) => (typeof segment === "object" ? segment.key : segment));
  const text = keys
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "");
  if (text === "") return "the payload itself";
  return text.length > PATH_CHARS_MAX ? `${text.slice(0, PATH_CHARS_MAX)}...` : text;
}

function listed(paths: readonly string[]): string {
  const unique = [...new Set(paths)];
  const more = unique.length - PATHS_MAX;
  return [...unique.slice(0, PATHS_MAX), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
