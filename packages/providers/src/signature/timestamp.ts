import { refuse } from "../refuse.ts";
import type { Verification } from "@millrace/core";

/** Seconds or milliseconds since the epoch, in decimal digits. */
export type TimestampUnit = "s" | "ms";

/** Millisecond tolerance of the senders that document one: five minutes. */
export const TOLERANCE_MS = 300_000;

/**
 * Millisecond tolerance of the senders that document none: a day. Whether they sign again when they send again is
 * not known, so the last of their retries must still be taken; what comes twice has the same signed id.
 */
export const LONG_TOLERANCE_MS = 86_400_000;

// Twelve digits of seconds reach the year 33658; thirteen are milliseconds that lost their way.
const UNITS = {
  s: { digits: /^\d{1,12}$/, ms: 1_000 },
  ms: { digits: /^\d{1,15}$/, ms: 1 },
} as const satisfies Record<TimestampUnit, { digits: RegExp; ms: number }>;

/** Reads a signed time: digits and nothing else. Undefined for all that Number() also takes. */
export function readTimestamp(text: string, unit: TimestampUnit): number | undefined {
  return UNITS[unit].digits.test(text) ? Number(text) * UNITS[unit].ms : undefined;
}

/** Writes a time as its sender would. */
export function writeTimestamp(nowMs: number, unit: TimestampUnit): string {
  return String(Math.floor(nowMs / UNITS[unit].ms));
}

/** Refuses what lies further than the tolerance in the past or in the future. */
export function checkAge(signedAtMs: number, nowMs: number, toleranceMs: number): Verification {
  const age = nowMs - signedAtMs;
  if (Math.abs(age) <= toleranceMs) return { ok: true };
  return refuse(
    "invalid_timestamp",
    `Cannot verify the delivery: it was signed more than ${toleranceMs} ms ${age > 0 ? "ago" : "ahead of now"}`,
  );
}
