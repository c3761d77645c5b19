import {
  bodyHash,
  EVENT_ID_BYTES_MAX,
  EVENT_TYPE_BYTES_MAX,
  isInternal,
  isStorable,
  isStorableWithin,
  keyOf,
  MillraceError,
  nearest,
  type Emit,
  type EmitOptions,
  type EventKey,
  type JobTrace,
  type JsonPayload,
  type Source,
} from "@millrace/core";
import { hash } from "node:crypto";
import type { EmitTarget } from "@millrace/ledger";

export type InternalSources = ReadonlyMap<string, { readonly bodyBytesMax: number }>;

export interface EmitSource {
  readonly provider?: Source["provider"];
  readonly options: { readonly bodyBytesMax?: number | undefined; readonly secrets?: unknown };
}

export function internalSources(sources: Readonly<Record<string, EmitSource>>): InternalSources {
  return new Map(
    Object.entries(sources).flatMap(([name, { provider, options }]) => {
      if (provider === undefined || !isInternal({ provider })) return [];
      return [[name, { bodyBytesMax: options.bodyBytesMax ?? provider.bodyBytesMax }] as const];
    }),
  );
}

export interface EmitParent extends EventKey {
  readonly headers: Readonly<Record<string, string>>;
  readonly trace?: JobTrace | undefined;
}

/** The limits of an attempt: its emitted events are all in memory until it is settled. */
const EVENTS_MAX = 1_000;
const BYTES_MAX = 16 * 1024 * 1024;
/** The longest chain of events of which each emits the next. */
const DEPTH_MAX = 16;
const AFTER_MS_MAX = 365 * 86_400_000;

const DEPTH_HEADER = "millrace-depth";

/** It throws at once instead of returning a promise: a handler may forget to await it. */
export function createEmit(parent: EmitParent, target: EmitTarget, sources: InternalSources): Emit {
  return (source, type, data, options = {}) => {
    const { emitted } = target;
    const body = toBody(source, data, requireSource(source, sources).bodyBytesMax);
    requireType(source, type);
    requireKey(source, options);
    const afterMs = toDelay(source, options);
    // An event from a sender has no ancestors, even if its headers say otherwise.
    const depth = 1 + (sources.has(parent.source) ? Number(parent.headers[DEPTH_HEADER]) || 0 : 0);
    if (depth > DEPTH_MAX) {
      refuse(`it would be the ${DEPTH_MAX + 1}th of a chain`, source, "emit_too_deep");
    }
    const part = options.key ?? `#${emitted.countOf(source, type) + 1}`;
    const eventId = emittedId(parent, type, options.key === undefined ? part : escaped(part));
    if (emitted.has({ source, eventId })) {
      refuse(`an event of type "${type}" was emitted with the same key before`, source);
    }
    if (emitted.count >= EVENTS_MAX || emitted.bytes + body.byteLength > BYTES_MAX) {
      refuse(`an attempt emits ${EVENTS_MAX} events and ${BYTES_MAX} bytes at most`, source);
    }
    const traceparent = parent.trace?.emit(source, type);
    return target.emit({
      source,
      eventId,
      generation: 0,
      type,
      acceptedAtMs: Date.now(),
      bodyHash: bodyHash(body),
      headers: {
        "millrace-parent-source": parent.source,
        "millrace-parent-id": parent.eventId,
        "millrace-parent-generation": String(parent.generation),
        [DEPTH_HEADER]: String(depth),
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      unsigned: false,
      body,
      parent: keyOf(parent),
      afterMs,
    });
  };
}

export const emitNothing: Emit = (source) =>
  refuse("a set-based handler has several events, and none of them is the parent", source);

function refuse(
  why: string,
  source: string,
  code: "emit_refused" | "emit_too_deep" = "emit_refused",
): never {
  throw new MillraceError(code, `Cannot emit to "${source}": ${why}`);
}

function requireSource(source: string, sources: InternalSources): { bodyBytesMax: number } {
  const known = sources.get(source);
  if (known !== undefined) return known;
  const names = [...sources.keys()];
  const meant = nearest(source, names);
  return refuse(
    names.length === 0
      ? "the config has no internal source"
      : `it is not an internal source; ${meant === undefined ? `the config has ${names.join(", ")}` : `did you mean "${meant}"?`}`,
    source,
  );
}

function requireType(source: string, type: unknown): void {
  if (typeof type === "string" && isStorableWithin(type, EVENT_TYPE_BYTES_MAX)) return;
  refuse(`its type is not 1 to ${EVENT_TYPE_BYTES_MAX} bytes of UTF-8`, source);
}

function requireKey(source: string, { key }: EmitOptions): void {
  if (key === undefined || (typeof key === "string" && key !== "" && isStorable(key))) return;
  refuse("its key is not a text of UTF-8, or is empty", source);
}

function toDelay(source: string, { afterMs = 0 }: EmitOptions): number {
  if (typeof afterMs === "number" && afterMs >= 0 && afterMs <= AFTER_MS_MAX) {
    return Math.ceil(afterMs);
  }
  const most = `${AFTER_MS_MAX} (365 days)`;
  return refuse(`afterMs is ${String(afterMs)}, and must be 0 to ${most}`, source);
}

function toBody(source: string, data: JsonPayload, bytesMax: number): Uint8Array {
  let text: string | undefined;
  try {
    text = JSON.stringify(data);
  } catch (error) {
    return refuse(`its data is not JSON: ${error instanceof Error ? error.message : "?"}`, source);
  }
  if (text === undefined) return refuse(`its data is not JSON: ${typeof data}`, source);
  const body = Buffer.from(text);
  if (body.byteLength <= bytesMax) return body;
  return refuse(`its data has ${body.byteLength} bytes, and the source takes ${bytesMax}`, source);
}

/** The same in each attempt of its parent, another in each replay; separators keep it unique. */
function emittedId({ source, eventId, generation }: EventKey, type: string, part: string): string {
  const id = [source, escaped(eventId), generation, escaped(type), part].join("|");
  return Buffer.byteLength(id) <= EVENT_ID_BYTES_MAX ? id : hash("sha256", id, "base64url");
}

function escaped(text: string): string {
  return text.replace(/[%|#]/g, encodeURIComponent);
}
