const grouped = new Intl.NumberFormat(undefined);

export const formatCount = (count: number): string => grouped.format(count);

/** `1 event`, `2 events`. */
export const countOf = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
] as const;

/** `now`, `42 s`, `3 min`, `5 h`, `12 d`. */
export function ageOf(instantMs: number, nowMs: number): string {
  const seconds = Math.floor((nowMs - instantMs) / 1_000);
  if (seconds < 1) return "now";
  for (const [unit, size] of UNITS) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${seconds} s`;
}
