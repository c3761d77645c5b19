/** A position in a delivery. Only a `json` one is in the body of an event as well. */
export interface Position {
  readonly kind: "header" | "json" | "form" | "query";
  readonly name: string;
}

const POSITION =
  /^(?:header:([!#$%&'*+.^_`|~0-9A-Za-z-]+)|json:(?:\$\.)?([^\s$.[\]*{}][^\s.[\]*{}]*(?:\.[^\s.[\]*{}]+)*)|(form|query):([^\s{}]+))$/;

/** Reads a position as a config writes it; undefined for any other text. */
export function parsePosition(text: string): Position | undefined {
  const [, header, json, kind, name] = POSITION.exec(text) ?? [];
  if (header !== undefined) return { kind: "header", name: header.toLowerCase() };
  if (json !== undefined) return { kind: "json", name: json };
  if (name === undefined) return undefined;
  return { kind: kind === "form" ? "form" : "query", name };
}

/** Own properties only: "constructor" and "__proto__" of a plain object are nobody's value. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = Reflect.get(at, name);
  }
  return at;
}
