import { readDuration, readMoment, REASON_LENGTH_MAX } from "@millrace/api-contract";
import { OUTCOMES, TENANT } from "@millrace/core";
import { InvalidArgumentError, Option } from "commander";

export function wholeNumber(bounds: { min: number; max: number }): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < bounds.min || number > bounds.max) {
      throw new InvalidArgumentError(`It must be a whole number, ${bounds.min} to ${bounds.max}.`);
    }
    return number;
  };
}

export function positiveNumber(text: string): number {
  const number = Number(text);
  if (!Number.isFinite(number) || number <= 0 || text.trim() === "") {
    throw new InvalidArgumentError("It must be a number above 0.");
  }
  return number;
}

/** Reads `20%` as 0.2. */
export function share(text: string): number {
  const percent = Number(/^(\d{1,3}(?:\.\d+)?)%?$/.exec(text)?.[1]);
  if (percent <= 100) return percent / 100;
  throw new InvalidArgumentError("It must be a percentage, 0% to 100%.");
}

export const WAIT_MS = 60_000;

export function duration(text: string): number {
  const ms = readDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("It must be a length of time (30s, 5m).");
  return ms;
}

/** Reads a moment: ISO 8601, or how long ago (`90s`, `15m`, `1h`, `7d`). */
export function moment(text: string): Date {
  const date = readMoment(text);
  if (date !== undefined) return date;
  throw new InvalidArgumentError("It must be a time (2026-11-21T10:00Z) or an age (15m, 1h, 7d).");
}

export function choice(flags: string, description: string, words: readonly string[]): Option {
  return new Option(flags, description).choices([...words]);
}

export function reasonText(text: string): string {
  const reason = text.trim();
  if (reason !== "" && reason.length <= REASON_LENGTH_MAX) return reason;
  throw new InvalidArgumentError(`It must be 1 to ${REASON_LENGTH_MAX} characters.`);
}

export function tenantOption(description: string): Option {
  return new Option("--tenant <tenant>", description).argParser((text) => {
    if (TENANT.test(text)) return text;
    throw new InvalidArgumentError(`It must match ${TENANT.source}.`);
  });
}

export const EVENT_FILTER = {
  source: new Option("--source <source>", "events from this source"),
  tenant: tenantOption("events of this tenant"),
  type: new Option("--type <type>", "events of this type"),
  error: new Option(
    "--error <fingerprint>",
    "events whose last error has this fingerprint, or one that begins with it",
  ),
  q: new Option("--q <text>", "events whose id is or begins with this"),
  run: new Option("--run <id>", "events that this bulk run retried or replayed"),
  find: new Option("--find <search>", "events that match a search: source:stripe customer:cus_1"),
  since: new Option(
    "--since <time>",
    "recorded since this time (2026-11-21T10:00Z, or 15m, 1h, 7d ago)",
  ).argParser(moment),
  until: new Option("--until <time>", "recorded before this time").argParser(moment),
};

export const outcomeOption = choice("--outcome <outcome>", "events with this outcome", OUTCOMES);
