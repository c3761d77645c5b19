import type {
  Handler,
  HandlerFunction,
  HandlerOptions,
  HandlerParts,
  JsonPayload,
  SetHandlerFunction,
} from "./handler.ts";
import { unknownKey } from "./nearest.ts";

/**
 * Binds a handler to events of a source, of several, or of every source that has a URL (`*`): one
 * type, a list of types, or `*` for all. A `*` may end a type: `payment.*`. When several handlers
 * match an event, they run in order: first their calls, and then their writes, in one
 * transaction.
 */
export function on<Payload = JsonPayload>(
  source: string | readonly string[],
  type: string | readonly string[],
  run: HandlerFunction<Payload>,
): Handler;
/** Binds a handler of several parts: `schema`, `when`, `call`, and `write`. */
export function on<Payload = JsonPayload, Called = undefined>(
  source: string | readonly string[],
  type: string | readonly string[],
  parts: HandlerParts<Payload, Called>,
): Handler;
/**
 * Binds a set-based handler: it gets the events that wait at the same time, up to `batch` of them,
 * in one transaction, so that it can write them with one statement. If it throws, the set is undone
 * and tried in halves, until the event that it throws for is alone and fails alone: the other
 * events may be handed to it up to ten times, which uses up none of their attempts. An event has
 * either one set-based handler or ordinary ones.
 */
export function on<Payload = JsonPayload>(
  source: string | readonly string[],
  type: string | readonly string[],
  options: HandlerOptions,
  run: SetHandlerFunction<Payload>,
): Handler;
export function on(
  source: string | readonly string[],
  type: string | readonly string[],
  ...given: [HandlerFunction | HandlerParts] | [HandlerOptions, SetHandlerFunction]
): Handler {
  const bound = { sources: listOf(source, "source"), types: listOf(type, "type") };
  const name = bound.sources.join(", ");
  const [first, runSet] = given;
  if (typeof first === "function") return withCall({ ...bound, write: first });
  if (typeof first !== "object" || first === null) {
    const example = `on("${name}", "${bound.types.join(", ")}", async (event, { tx }) => { ... })`;
    throw new TypeError(unbound(name, `there is none. Write ${example}`));
  }
  if ("batch" in first) return withCall({ ...bound, ...bindSet(name, first, runSet) });
  return withCall({ ...bound, ...bindParts(name, first) });
}

/** Not in the handlers, which a project may copy or compare. */
const CALLS = new WeakMap<Handler, Error>();

function withCall(handler: Handler): Handler {
  CALLS.set(handler, new Error("on"));
  return handler;
}

/** Has the stack of the call of `on`: the line of code of a failure that has none of its own. */
export const boundBy = (handler: Handler): Error | undefined => CALLS.get(handler);

const PARTS = ["schema", "when", "call", "timeoutMs", "write"];

function bindParts(name: string, parts: HandlerParts): HandlerParts {
  const { schema, when, call, timeoutMs, write } = parts;
  refuseOthers(name, parts, PARTS);
  if (call === undefined && write === undefined) {
    throw new TypeError(unbound(name, "it has neither call nor write"));
  }
  for (const [part, run] of Object.entries({ when, call, write })) {
    if (run !== undefined && typeof run !== "function") {
      throw new TypeError(unbound(name, `${part} is not a function`));
    }
  }
  if (schema !== undefined && typeof schema["~standard"]?.validate !== "function") {
    throw new TypeError(unbound(name, "schema is not a Standard Schema"));
  }
  const isTime = timeoutMs === undefined || (timeoutMs >= 10 && timeoutMs <= TIMEOUT_MS_MAX);
  if (!isTime) {
    const why = `timeoutMs is ${timeoutMs}, and must be 10 to ${TIMEOUT_MS_MAX}`;
    throw new RangeError(unbound(name, why));
  }
  return { schema, when, call, timeoutMs, write };
}

function refuseOthers(name: string, given: object, known: readonly string[]): void {
  const strange = Object.keys(given).find((part) => !known.includes(part));
  if (strange === undefined) return;
  const why = `it has no part ${unknownKey(strange, known)}. Parts are ${known.join(", ")}`;
  throw new TypeError(unbound(name, why));
}

const unbound = (name: string, why: string) => `Cannot bind a handler to ${name}: ${why}`;

function listOf(names: string | readonly string[], what: string): readonly string[] {
  const list: unknown[] = Array.isArray(names) ? [...names] : [names];
  if (list.every((name) => typeof name === "string" && name !== "")) return list as string[];
  throw new TypeError(
    `Cannot bind a handler: a ${what} must be a name. Write on("stripe", "invoice.paid", async (event, { tx }) => { ... })`,
  );
}

function bindSet(
  name: string,
  options: HandlerOptions,
  run: SetHandlerFunction | undefined,
): Pick<Handler, "write" | "set"> {
  if (typeof run !== "function") {
    throw new TypeError(unbound(name, "it is not a function"));
  }
  refuseOthers(name, options, ["batch"]);
  const { batch: max } = options;
  if (!Number.isInteger(max) || max < SET_MIN || max > SET_MAX) {
    throw new RangeError(unbound(name, `batch is ${max}, and must be ${SET_MIN} to ${SET_MAX}`));
  }
  return { write: (event, context) => run([event], context), set: { max, run } };
}

/** An hour, as of `worker.handlerTimeoutMs`. */
const TIMEOUT_MS_MAX = 3_600_000;
const SET_MIN = 2;
const SET_MAX = 500;
