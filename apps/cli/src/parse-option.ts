import { REASON_LENGTH_MAX } from "@millrace/api-contract";
import { InvalidArgumentError, Option } from "commander";

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A parser for an option that takes a whole number within bounds. */
export function wholeNumber(bounds: { min: number; max: number }): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < bounds.min || number > bounds.max) {
      throw new InvalidArgumentError(`It must be a whole number, ${bounds.min} to ${bounds.max}.`);
    }
    return number;
  };
}

/** Reads a rate: a number above 0. */
export function positiveNumber(text: string): number {
  const number = Number(text);
  if (!Number.isFinite(number) || number <= 0 || text.trim() === "") {
    throw new InvalidArgumentError("It must be a number above 0.");
  }
  return number;
}

/** Reads a moment: ISO 8601, or how long ago (`90s`, `15m`, `1h`, `7d`). */
export function moment(text: string): Date {
  const ago = /^(\d+)(ms|s|m|h|d)$/.exec(text);
  if (ago !== null) {
    const unitMs = UNITS_MS[ago[2] as keyof typeof UNITS_MS];
    return new Date(Date.now() - Number(ago[1]) * unitMs);
  }
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError(
      "It must be a time (2026-11-21T10:00Z) or an age (15m, 1h, 7d).",
    );
  }
  return date;
}

/** An option that takes one of a few words; they stand in its help, and a shell can complete them. */
export function choice(flags: string, description: string, words: readonly string[]): Option {
  return new Option(flags, description).choices([...words]);
}

/** Reads why something is done: some words on a line or more. */
export function reasonText(text: string): string {
  const reason = text.trim();
  if (reason !== "" && reason.length <= REASON_LENGTH_MAX) return reason;
  throw new InvalidArgumentError(`It must be 1 to ${REASON_LENGTH_MAX} characters.`);
}
