import { jsonOf, MillraceError, newEventId, type Provider, type SignRequest } from "@millrace/core";

export interface EventRecipe {
  readonly provider: Provider;
  readonly secret: string;
  readonly type: string;
  /** The event's id; with several events the others get `-2`, `-3`, ... behind it. */
  readonly id: string | undefined;
  readonly data: Buffer | undefined;
  readonly overrides: readonly Override[];
}

export function createEvent(recipe: EventRecipe, index: number): SignRequest {
  const { provider, type, secret, id, data, overrides } = recipe;
  const eventId =
    id === undefined ? newEventId(provider) : `${id}${index === 0 ? "" : `-${index + 1}`}`;
  const nowMs = Date.now();
  // Given bytes go out as they are, unless a field is to be set in them.
  if (data !== undefined && overrides.length === 0) {
    return { eventId, type, secret, nowMs, body: data };
  }
  const text = data?.toString() ?? provider.sample({ eventId, type, nowMs });
  return { eventId, type, secret, nowMs, body: Buffer.from(overrideFields(text, overrides)) };
}

/** @throws `invalid_event_type` when the provider has no samples. */
export function usualType(provider: Provider): string {
  const [usual] = provider.sampleTypes;
  if (usual !== undefined) return usual;
  throw new MillraceError(
    "invalid_event_type",
    `Cannot choose a type: ${provider.name} has no sample events. Name one`,
  );
}

/** The events that the ingress will read: a body of `--data` can carry others, and several. */
export function identifiedAs(
  provider: Provider,
  event: SignRequest,
  headers: Readonly<Record<string, string>>,
): readonly Pick<SignRequest, "type" | "eventId">[] {
  const identified = provider.identify({
    method: "POST",
    url: "/",
    headers: Object.fromEntries(new Headers(headers)),
    body: event.body,
    receivedAtMs: Date.now(),
  });
  return identified.ok ? identified.events : [event];
}

export interface Override {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Reads `payload.carrier=none`; the value is JSON where it is JSON, and text otherwise. */
export function parseOverride(text: string): Override | undefined {
  const equals = text.indexOf("=");
  if (equals < 1) return undefined;
  const typed = text.slice(equals + 1);
  const value = jsonOf(typed);
  return { path: text.slice(0, equals).split("."), value: value === undefined ? typed : value };
}

/** @throws `invalid_body` when the body is not a JSON object. */
export function overrideFields(body: string, overrides: readonly Override[]): string {
  if (overrides.length === 0) return body;
  const root = jsonOf(body);
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
