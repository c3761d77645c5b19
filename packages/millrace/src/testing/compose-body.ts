import type { Provider, SampleRequest } from "@millrace/core";

/** A body: fields for the provider's sample, or JSON text or bytes to send unchanged. */
export type Payload = string | Uint8Array | object;

/**
 * Makes the body of an event from the provider's sample of that type. Fields of `data` replace the
 * sample's at every depth; undefined removes a field, and a list replaces a list. Where the sender
 * posts a list, an object goes over its first item.
 */
export function composeBody(
  provider: Provider,
  event: SampleRequest,
  payload: Payload | undefined,
): Uint8Array {
  if (typeof payload === "string") return Buffer.from(payload);
  if (payload instanceof Uint8Array) return payload;
  const sample = provider.sample(event);
  if (payload === undefined) return Buffer.from(sample);
  const fields = parse(sample);
  if (fields === undefined) return Buffer.from(overForm(sample, payload));
  return Buffer.from(JSON.stringify(overAll(fields, payload)));
}

function overAll(sample: unknown, payload: object): unknown {
  if (!Array.isArray(sample) || Array.isArray(payload)) return over(sample, payload);
  return [over(sample[0], payload), ...sample.slice(1)];
}

function over(sample: unknown, fields: unknown): unknown {
  if (!isFields(sample) || !isFields(fields)) return fields;
  const merged = Object.entries(fields).map(([name, value]) => {
    const before = Object.hasOwn(sample, name) ? sample[name] : undefined;
    return [name, over(before, value)] as const;
  });
  // Not by assignment, which would take "__proto__" for more than a name.
  return Object.fromEntries([...Object.entries(sample), ...merged]);
}

// A sample that is no JSON is a form.
function overForm(sample: string, payload: object): string {
  const form = new URLSearchParams(sample);
  for (const [name, value] of Object.entries(payload)) {
    if (value === undefined) form.delete(name);
    else form.set(name, String(value));
  }
  return form.toString();
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
