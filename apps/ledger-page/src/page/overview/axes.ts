const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const STEPS_MS = [
  ...[5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 7].map((days) => days * DAY_MS),
];
const TICKS_MAX = 7;

/** Round times of this browser's zone, at most seven, and none at the very end. */
export function ticksOf(fromMs: number, untilMs: number): readonly number[] {
  const span = untilMs - fromMs;
  const step = STEPS_MS.find((ms) => span / ms <= TICKS_MAX) ?? 7 * DAY_MS;
  const offset = new Date(untilMs).getTimezoneOffset() * MINUTE_MS;
  const first = Math.ceil((fromMs - offset) / step) * step + offset;
  const count = Math.max(0, Math.ceil((untilMs - first) / step));
  return Array.from({ length: count }, (_, index) => first + index * step);
}

/** The next of 1, 2, 5, 10, 20, …, so that half of it is round too. */
export function topOf(max: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, max)));
  return ([1, 2, 4, 6, 10].find((times) => times * power >= max) ?? 10) * power;
}

const UNITS_MS = [
  ["h", HOUR_MS],
  ["min", MINUTE_MS],
  ["s", 1_000],
] as const;

const unitOf = (ms: number) => UNITS_MS.find(([, size]) => ms >= size) ?? (["ms", 1] as const);

/** Round in the unit that people read it in: 4 min and not 200 s. */
export function durationTopOf(maxMs: number): number {
  const [, size] = unitOf(maxMs);
  return topOf(maxMs / size) * size;
}

/** `30 s` for an axis, where a second unit would only be zero. */
export function durationTick(ms: number): string {
  const [unit, size] = unitOf(ms);
  return `${Math.round((10 * ms) / size) / 10} ${unit}`;
}

export type Values = readonly (number | null)[];

/** Flat over each bucket; nothing where nothing was measured. Heights are shares of `top`. */
export function stepPath(values: Values, top: number): string {
  let isOn = false;
  return values
    .map((value, at) => {
      const begins = isOn ? "V" : `M${at} `;
      isOn = value !== null;
      return value === null ? "" : `${begins}${heightOf(value, top)}H${at + 1}`;
    })
    .join("");
}

/** A bar for each bucket, on top of `below`. */
export function barPath(values: readonly number[], below: readonly number[], top: number): string {
  return values
    .map((value, at) => {
      if (value === 0) return "";
      const [from, to] = [heightOf(below[at] ?? 0, top), heightOf((below[at] ?? 0) + value, top)];
      return `M${at + 0.12} ${from}V${to}H${at + 0.88}V${from}Z`;
    })
    .join("");
}

const heightOf = (value: number, top: number): number =>
  Math.round(10_000 * (1 - value / top)) / 100;
