import { MillraceError } from "@millrace/core";

/** A field of a JSON body, and what to put there. */
export interface Override {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Reads `payload.carrier=none`; the value is JSON where it is JSON, and text otherwise. */
export function parseOverride(text: string): Override | undefined {
  const equals = text.indexOf("=");
  if (equals < 1) return undefined;
  return { path: text.slice(0, equals).split("."), value: jsonOr(text.slice(equals + 1)) };
}

/**
 * Puts values into a JSON body; objects on the way are made where there are none.
 *
 * @throws `invalid_body` when the body is not a JSON object.
 */
export function overrideFields(body: string, overrides: readonly Override[]): string {
  if (overrides.length === 0) return body;
  const root = jsonOr(body);
  if (!isObject(root)) {
    throw new MillraceError("invalid_body", "Cannot set a field: the body is not a JSON object");
  }
  for (const { path, value } of overrides) put(root, path, value);
  return JSON.stringify(root);
}

type Fields = Record<string, unknown>;

function put(root: Fields, path: readonly string[], value: unknown): void {
  let at = root;
  for (const key of path.slice(0, -1)) {
    const next = Object.hasOwn(at, key) ? at[key] : undefined;
    at = isObject(next) ? next : define(at, key, {});
  }
  define(at, path.at(-1) ?? "", value);
}

// Not by assignment, which would take "__proto__" for more than a name.
function define<Value>(at: Fields, key: string, value: Value): Value {
  Object.defineProperty(at, key, { value, enumerable: true, configurable: true, writable: true });
  return value;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
