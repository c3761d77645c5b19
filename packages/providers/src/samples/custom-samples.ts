import { defineSamples, type SampleRequest, type Samples } from "./define-samples.ts";

interface Place {
  readonly kind: "header" | "json";
  readonly name: string;
}

export function customSamples(places: { id: Place; type: Place | undefined }): Samples {
  const body = (request: SampleRequest): unknown => {
    const made: Record<string, unknown> = { created_at: new Date(request.nowMs).toISOString() };
    if (places.id.kind === "json") put(made, places.id.name, request.eventId);
    if (places.type?.kind === "json") put(made, places.type.name, request.type);
    return made;
  };
  return defineSamples({ "sample.created": body }, body);
}

function put(object: object, path: string, value: string): void {
  const names = path.split(".");
  const last = names.pop() ?? path;
  let at = object;
  for (const name of names) {
    const there: unknown = Object.hasOwn(at, name) ? Reflect.get(at, name) : undefined;
    const next = typeof there === "object" && there !== null ? there : {};
    define(at, name, next);
    at = next;
  }
  define(at, last, value);
}

// A path from a config may hold any name, "__proto__" among them.
function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
