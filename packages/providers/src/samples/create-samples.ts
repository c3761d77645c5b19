import { createHash } from "node:crypto";
import type { Position, Provider, SampleRequest } from "@millrace/core";
import type { IdentityParts } from "../identity/identify.ts";
import {
  parseTemplate,
  placesOf,
  textToHeader,
  writableText,
  type Location,
} from "../identity/locations.ts";

interface Parts extends IdentityParts, Pick<Provider, "dataField"> {
  readonly samples?: Readonly<Record<string, unknown>>;
}

type Fields = Record<string, unknown>;

/** Without a prototype: a path from a config may hold any name, "__proto__" among them. */
const newFields = (): Fields => Object.create(null);

/** The provider's samples, or plain bodies with id and type in their locations. */
export function createSamples({ id, type, each, body, dataField, samples }: Parts): Samples {
  const [place] = placesOf(body?.replace(/^base64:/, ""));
  const isForm = [...placesOf(id), ...placesOf(type)].some(({ kind }) => kind === "form");
  const writeForm = (json: string) => new URLSearchParams(JSON.parse(json)).toString();
  if (samples !== undefined) return defineSamples(samples, isForm ? writeForm : undefined);
  const sample = (request: SampleRequest): string => {
    const fields = newFields();
    fields["created_at"] = new Date(request.nowMs).toISOString();
    if (dataField !== undefined) fields[dataField] = newFields();
    const texts = [...idsAt(id, request.eventId), ...textsAt(type, request.type)];
    for (const [position, written] of texts) put(fields, position, written);
    const value = typeof each === "string" ? listAt(each, fields) : fields;
    const text = JSON.stringify(value);
    if (isForm) return writeForm(text);
    if (place === undefined) return text;
    if (place.kind === "form") return new URLSearchParams({ [place.name]: text }).toString();
    if (!Array.isArray(value)) put(value, place, Buffer.from(text).toString("base64"));
    return JSON.stringify(value);
  };
  return { sampleTypes: ["sample.created"], sample };
}

function idsAt(location: Location, eventId: string): ReturnType<typeof textsAt> {
  const texts = textsAt(location, eventId);
  const isInBody = texts.some(([{ kind }]) => kind === "json" || kind === "form");
  return isInBody ? texts : [[{ kind: "json", name: "id" }, eventId]];
}

/** The headers that hold a text of a sample. */
export function locatedHeaders(
  location: Location | undefined,
  text: string,
): Record<string, string> {
  const headers = textsAt(location, text).filter(([{ kind }]) => kind === "header");
  return Object.fromEntries(headers.map(([{ name }, value]) => [name, textToHeader(value)]));
}

/** The text at each part of a location: cut where the location has text between them. */
function textsAt(
  location: Location | undefined,
  text: string,
): readonly (readonly [Position, string])[] {
  const { places = [], texts = [] } = parseTemplate(writableText(location) ?? "{") ?? {};
  let rest = text;
  return places.map((place, index) => {
    const between = texts[index + 1] ?? "";
    const end = between === "" ? rest.length : rest.indexOf(between);
    const part = end === -1 ? rest : rest.slice(0, end);
    rest = end === -1 ? rest : rest.slice(end + between.length);
    return [place, part] as const;
  });
}

function listAt(location: string, item: Fields): Fields | Fields[] {
  const path = location.replace(/^json:/, "");
  if (path === "") return [item];
  const body = newFields();
  put(body, { kind: "json", name: path }, [item]);
  return body;
}

function put(fields: Fields, { kind, name: path }: Position, value: unknown): void {
  if (kind === "header" || kind === "query") return;
  const names = kind === "form" ? [path] : path.split(".");
  const last = names.pop() ?? path;
  let at = fields;
  for (const name of names) {
    const there = at[name];
    const next = typeof there === "object" && there !== null ? (there as Fields) : newFields();
    at = at[name] = next;
  }
  at[last] = value;
}

type Samples = Pick<Provider, "sampleTypes" | "sample">;

/**
 * Samples from templates: a key names one type or several, and `*` serves every further one. In a
 * text `{id}`, `{type}`, and the time as `{iso}`, `{utc}`, `{s}`, or `{ms}` are the event's;
 * `{type.0}` and `{type.1}` are its type, cut at the first dot; `{amount}` and `{<name>:<length>}`
 * are digits that follow from its id. `"{#...}"` is a number.
 */
function defineSamples(
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
