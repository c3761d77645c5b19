const grouped = new Intl.NumberFormat(undefined);

export const formatCount = (count: number): string => grouped.format(count);

const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumSignificantDigits: 2 });

export const formatShare = (share: number): string => percent.format(share);

/** `1 event`, `2 events`. */
export const countOf = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

/** `give_up_many` as `Give up many`. */
export const titleOf = (name: string): string =>
  `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll("_", " ")}`;

/** One name everywhere. On an open loopback nobody signs in. */
export const personName = ({ actor, via }: { actor: string | null; via: string }): string =>
  actor ?? (via === "local" ? "local user" : "unknown user");

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
