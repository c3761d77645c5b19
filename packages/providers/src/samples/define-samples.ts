import { createHash } from "node:crypto";
import type { Provider, SampleRequest } from "@millrace/core";

export type Samples = Pick<Provider, "sampleTypes" | "sample">;

/**
 * Samples from templates: a key names one type or several, and `*` serves every further one. In a
 * text `{id}`, `{type}`, and the time as `{iso}`, `{utc}`, `{s}`, or `{ms}` are the event's;
 * `{type.0}` and `{type.1}` are its type, cut at the first dot; `{amount}` and `{<name>:<length>}`
 * are digits that follow from its id. `"{#...}"` is a number.
 */
export function defineSamples(
  templates: Readonly<Record<string, unknown>>,
  write: (json: string) => string = (json) => json,
): Samples {
  const byType = new Map(
    Object.entries(templates).flatMap(([types, template]) =>
      types.split(" ").map((type) => [type, JSON.stringify(template)] as const),
    ),
  );
  const other = byType.get("*") ?? "{}";
  byType.delete("*");
  return {
    sampleTypes: [...byType.keys()],
    sample: (request) => write(fillIn(byType.get(request.type) ?? other, request)),
  };
}

function fillIn(template: string, request: SampleRequest): string {
  return template.replaceAll(/"\{#([^}"]+)\}"|\{#?([^}"]+)\}/g, (found, number, text) => {
    const value = valueOf(number ?? text, request, found.includes("#"));
    return number === undefined ? JSON.stringify(value).slice(1, -1) : value;
  });
}

function valueOf(name: string, { eventId, type, nowMs }: SampleRequest, isNumber: boolean): string {
  const [salt = "", length] = name.split(":");
  if (length !== undefined) {
    const digits = digitsOf(eventId, salt, Number(length));
    return isNumber ? String(Number.parseInt(digits, 16)) : digits;
  }
  const [first = "", ...rest] = type.split(".");
  const values: Readonly<Record<string, string>> = {
    ...{ id: eventId, type, ms: String(nowMs), s: String(Math.floor(nowMs / 1_000)) },
    ...{ "type.0": first, "type.1": rest.join(".") },
    iso: new Date(nowMs).toISOString(),
    utc: new Date(nowMs).toUTCString(),
    amount: String(100 + (Number.parseInt(digitsOf(eventId, "amount", 8), 16) % 100_000)),
  };
  return values[name] ?? name;
}

/** Hexadecimal digits that follow from an event's id: the same id, the same sample. */
export function digitsOf(eventId: string, salt: string, length: number): string {
  const digest = createHash("shake256", { outputLength: Math.ceil(length / 2) });
  return digest.update(`${salt}/${eventId}`).digest("hex").slice(0, length);
}
