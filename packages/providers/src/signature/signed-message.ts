import type {
  Delivery,
  DeliveryHead,
  ErrorCode,
  Refusal,
  SignatureReason,
  SignedMessage,
} from "@millrace/core";
import { headerOf, isHeaderText, readDelivery } from "../identity/locations.ts";
import { refuse } from "../answers.ts";

/** The position of the signed time: a header, the JSON body (a path), or next to the signature. */
export interface TimestampRule {
  readonly header?: string | undefined;
  readonly json?: string | undefined;
  readonly unit: TimestampUnit;
}

type HeadParts = Omit<MessageParts, "body"> & { readonly tsMs: number };

interface HeadRules {
  readonly time: TimestampRule | undefined;
  /** The times next to the signature. */
  readonly timestamps: readonly string[];
  readonly idHeader: string | undefined;
  readonly template: MessageTemplate;
}

/** Finds what a head gives to the message, or says why the message cannot be made. */
export function readHeadParts(head: DeliveryHead, rules: HeadRules): HeadParts | Refusal {
  const { idHeader, template } = rules;
  const ts = readTs(head, rules);
  if ("code" in ts) return ts;
  if (idHeader === undefined) return { id: "", ts: ts.text, tsMs: ts.ms };
  const id = headerOf(head, idHeader);
  if (!id) return badId("header_missing", `the header ${idHeader} is missing`);
  // "a.b" with the time 1 signs the same bytes as "a" with the time "b.1".
  if (!template.isBounded(id) || !isHeaderText(id)) {
    return badId("malformed", "it holds a character that no id of this sender may hold");
  }
  return { id, ts: ts.text, tsMs: ts.ms };
}

/** When a verified delivery was signed, milliseconds since the epoch. */
export function readSignedAt(
  delivery: Delivery,
  parts: HeadParts,
  time: TimestampRule | undefined,
): number | undefined | Refusal {
  if (time?.json === undefined) return time === undefined ? undefined : parts.tsMs;
  const found = readDelivery(delivery).json(time.json.split("."));
  if (typeof found === "string") return badTimestamp("malformed", "it is missing, or no number");
  return readTimestamp(found.text, time.unit) ?? badTimestamp("malformed", NOT_WHOLE);
}

function readTs(
  head: DeliveryHead,
  { time, timestamps }: HeadRules,
): { readonly text: string; readonly ms: number } | Refusal {
  // A body is read when its signature is known to be good.
  if (time === undefined || time.json !== undefined) return { text: "", ms: 0 };
  const found = time.header === undefined ? timestamps : [headerOf(head, time.header)];
  const [text] = found;
  if (!text) {
    return badTimestamp(
      time.header === undefined ? "malformed" : "header_missing",
      "it is missing",
    );
  }
  if (found.length > 1) return badTimestamp("malformed", "it is there more than once");
  const ms = readTimestamp(text, time.unit);
  return ms === undefined ? badTimestamp("malformed", NOT_WHOLE) : { text, ms };
}

const NOT_WHOLE = "it is not a time in its unit";

function refuseAs(code: ErrorCode, action: string) {
  return (reason: SignatureReason, state: string): Refusal => {
    return { ...refuse(code, `Cannot ${action}: ${state}`), failure: { reason } };
  };
}
export const badSignature = refuseAs("invalid_signature", "verify the delivery");
const badTimestamp = refuseAs("invalid_timestamp", "read the signed timestamp");
const badAge = refuseAs("invalid_timestamp", "verify the delivery");
const badId = refuseAs("invalid_event_id", "read the event id");

/** The values of a template's placeholders; `id` and `ts` are text as it came in a header. */
export interface MessageParts {
  readonly id: string;
  readonly ts: string;
  readonly body: Uint8Array;
}

export type MessageTemplate = ReturnType<typeof compileTemplate>;

/** Printable ASCII in which `{id}` and `{ts}` may stand once, and `{body}` does. */
export function isMessageTemplate(text: string): boolean {
  const names = text.match(/\{[^{}]*\}/g) ?? [];
  return (
    /^[\x20-\x7e]*$/.test(text) &&
    !/[{}]/.test(text.replaceAll(/\{(?:id|ts|body)\}/g, "")) &&
    text.includes("{body}") &&
    new Set(names).size === names.length
  );
}

/** True when `{id}` and the next placeholder touch, so that one could take from the other. */
export function isIdUnbounded(text: string, unit: TimestampUnit = "s"): boolean {
  // A time of RFC 3339 begins and ends in one way only, so that nothing can be cut from it.
  const bounded = unit === "rfc3339" ? text.replaceAll("{ts}", "0") : text;
  return /\}\{id\}|\{id\}\{/.test(bounded);
}

/** Makes a template ready: `{ts}.{body}`. It must be one (`isMessageTemplate`). */
export function compileTemplate(text: string) {
  const pieces = text.split(/(\{(?:id|ts|body)\})/);
  const at = pieces.indexOf("{id}");
  const before = pieces[at - 1] ?? "";
  const after = at === -1 ? "" : (pieces[at + 1] ?? "");
  const present = pieces.filter((piece) => piece !== "");
  return {
    /**
     * False for an id whose end could be moved: `a.b` where `.` follows `{id}`. With "::" behind it
     * an id must not hold that or end in ":", which would begin it early.
     */
    isBounded: (id: string) =>
      (before === "" || (before + id).lastIndexOf(before) === 0) &&
      (after === "" || (id + after).indexOf(after) === id.length),
    build: ({ id, ts, body }: MessageParts): SignedMessage =>
      present.map((piece) => {
        if (piece === "{body}") return body;
        if (piece === "{ts}") return ts;
        return piece === "{id}" ? id : piece;
      }),
  };
}

/** Seconds or milliseconds since the epoch in decimal digits, or `2026-01-01T00:00:00Z`. */
export type TimestampUnit = (typeof TIMESTAMP_UNITS)[number];
export const TIMESTAMP_UNITS = ["s", "ms", "rfc3339"] as const;

/** Millisecond tolerance of the senders that document one: five minutes. */
export const TOLERANCE_MS = 300_000;

/** Of the senders that document none: a day, for a last retry that is not signed again. */
export const LONG_TOLERANCE_MS = 86_400_000;

// Twelve digits of seconds reach the year 33658; thirteen are milliseconds that lost their way.
const UNITS = {
  s: { form: /^\d{1,12}$/, read: (text) => Number(text) * 1_000 },
  ms: { form: /^\d{1,15}$/, read: Number },
  rfc3339: {
    form: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/,
    read: Date.parse,
  },
} as const satisfies Record<TimestampUnit, { form: RegExp; read: (text: string) => number }>;

/** Reads a signed time in exactly its unit. Undefined for all else that Number() takes. */
function readTimestamp(text: string, unit: TimestampUnit): number | undefined {
  const ms = UNITS[unit].form.test(text) ? UNITS[unit].read(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** Writes a time as its sender would. */
export function writeTimestamp(nowMs: number, unit: TimestampUnit): string {
  if (unit === "rfc3339") return new Date(nowMs).toISOString();
  return String(unit === "s" ? Math.floor(nowMs / 1_000) : nowMs);
}

/** Refuses a time beyond the tolerance before `nowMs`, or after it and the `aheadMs` behind it. */
export function checkAge(signedAtMs: number, nowMs: number, toleranceMs: number, aheadMs = 0) {
  const ageMs = nowMs - signedAtMs;
  if (ageMs <= toleranceMs && -ageMs <= toleranceMs + aheadMs) return undefined;
  return staleBy(Math.round(ageMs / 1_000));
}

/** The refusal of a time that was signed so many seconds ago; negative for one ahead of now. */
export function staleBy(seconds: number | undefined): Refusal {
  const reason = seconds !== undefined && seconds < 0 ? "too_new" : "too_old";
  const refusal = badAge(reason, "its signed time is too far from now");
  if (seconds === undefined) return refusal;
  return { ...refusal, failure: { reason, seconds: Math.abs(seconds) } };
}
