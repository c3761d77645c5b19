import {
  type Delivery,
  type ErrorCode,
  EVENT_ID_BYTES_MAX,
  EVENT_TYPE_BYTES_MAX,
  type Identification,
  type IdentifiedEvent,
  isStorableWithin,
  type Refusal,
  jsonPieces,
} from "@millrace/core";
import {
  locate,
  readDelivery,
  type DeliveryReader,
  type Found,
  type Location,
} from "./locations.ts";
import { createAnswer, refuse, type AnswerParts } from "../answers.ts";

/** Cuts a delivery into the bodies of its events. */
export type Split = (delivery: Delivery) => readonly Uint8Array[] | Refusal;

/** Where a delivery's events, their ids, and their types are. */
export interface IdentityParts {
  readonly id: Location;
  /** Default: `unknown`. */
  readonly type?: Location;
  /** True where a delivery without a type is an event too, of the type `unknown`. */
  readonly typeIsOptional?: boolean;
  /** Path of the list whose items are events (`json:` for the body), or a function that splits. */
  readonly each?: string | Split;
  /** Location of the events' JSON: `form:payload`, or `base64:json:message.data`. */
  readonly body?: string;
  /** The answer to events: `{ status: 200 }`. Default: 202 for new events, 200 for known ones. */
  readonly answer?: AnswerParts | ((request: DeliveryReader) => AnswerParts);
}

type Identify = (delivery: Delivery) => Identification;

export function createIdentify(parts: IdentityParts): Identify {
  const { each, body, answer } = parts;
  const split = typeof each === "string" ? splitList(pathOf(each)) : each;
  const one = identifyOne(parts);
  const all = split === undefined ? one : identifyEach(split, one);
  const inner = body === undefined ? all : identifyInner(body, all);
  if (typeof answer !== "function") return inner;
  return (delivery) => {
    const found = inner(delivery);
    if (!found.ok) return found;
    return { ...found, answer: createAnswer(answer(readDelivery(delivery))) };
  };
}

function pathOf(location: string): readonly string[] {
  const path = location.replace(/^json:/, "");
  return path === "" ? [] : path.split(".");
}

function identifyOne({ id, type, typeIsOptional = type === undefined }: IdentityParts): Identify {
  const findId = locate(id);
  const findType = locate(type ?? []);
  return (delivery) => {
    const reader = readDelivery(delivery);
    const eventId = textOf(findId(reader), "invalid_event_id", EVENT_ID_BYTES_MAX);
    if (typeof eventId !== "string") return eventId;
    const found = findType(reader);
    if (found === "missing" && typeIsOptional) {
      return { ok: true, events: [{ eventId, type: "unknown" }] };
    }
    const text = textOf(found, "invalid_event_type", EVENT_TYPE_BYTES_MAX);
    return typeof text === "string" ? { ok: true, events: [{ eventId, type: text }] } : text;
  };
}

function textOf(found: Found, code: ErrorCode, bytesMax: number): string | Refusal {
  const what = code === "invalid_event_id" ? "id" : "type";
  if (found === "not_json") return refuse("invalid_body", "Cannot read the body: it is not JSON");
  if (found === "missing") return refuse(code, `Cannot read the event ${what}: it is missing`);
  if (found !== "malformed" && isStorableWithin(found.text, bytesMax)) return found.text;
  return refuse(
    code,
    `Cannot read the event ${what}: it must be 1 to ${bytesMax} bytes of UTF-8 text without NUL, or a whole number`,
  );
}

/** Far above what fits into a real delivery of any sender here; each costs a row. */
const EVENTS_MAX = 10_000;

/** One event without an id refuses all. */
function identifyEach(split: Split, identify: Identify): Identify {
  return (delivery) => {
    const bodies = split(delivery);
    if ("ok" in bodies) return bodies;
    if (bodies.length > EVENTS_MAX) {
      return refuse("invalid_body", `Cannot take the delivery: it has over ${EVENTS_MAX} events`);
    }
    const events: IdentifiedEvent[] = [];
    for (const body of bodies) {
      const found = identify({ ...delivery, body });
      if (!found.ok) return found;
      events.push(...found.events.map((event) => ({ ...event, body: event.body ?? body })));
    }
    return { ok: true, events };
  };
}

/** The items of a list in the JSON body, each as the bytes that came. */
function splitList(path: readonly string[]): Split {
  return (delivery) => {
    const bytes = readDelivery(delivery).jsonBytes(path);
    const isList =
      typeof bytes !== "string" &&
      /^[\ufeff\s]*\[/.test(Buffer.from(bytes.subarray(0, 64)).toString("utf8"));
    if (isList) return jsonPieces(bytes).map((piece) => piece.bytes);
    const why = bytes === "not_json" ? "it is not JSON" : "its events are not a JSON array";
    return refuse("invalid_body", `Cannot read the body: ${why}`);
  };
}

/** Of a form the id and the type stand in its JSON; of base64 in the JSON that it stands in. */
function identifyInner(location: string, identify: Identify): Identify {
  const isBase64 = location.startsWith("base64:");
  const find = locate(location.replace(/^base64:/, ""));
  const isOutside = location.startsWith("base64:json:");
  return (delivery) => {
    const text = find(readDelivery(delivery));
    const body = typeof text === "string" ? undefined : bytesOf(text.text, isBase64);
    if (body === undefined) return refuse("invalid_body", "Cannot read the body: it has no events");
    const found = identify(isOutside ? delivery : { ...delivery, body });
    if (!found.ok) return found;
    return { ...found, events: found.events.map((event) => ({ body, ...event })) };
  };
}

// Strict, so that no two texts are one event.
function bytesOf(text: string, isBase64: boolean): Uint8Array | undefined {
  const bytes = Buffer.from(text, isBase64 ? "base64" : "utf8");
  return !isBase64 || bytes.toString("base64") === text ? bytes : undefined;
}
