const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
] as const;

/** How long ago an instant was, in its largest unit: `now`, `42 s`, `3 min`, `5 h`, `12 d`. */
export function ageOf(instantMs: number, nowMs: number): string {
  const seconds = Math.floor((nowMs - instantMs) / 1_000);
  if (seconds < 1) return "now";
  for (const [unit, size] of UNITS) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${seconds} s`;
}

/** A duration for people: `850 ms`, `2.4 s`, `1 min 5 s`, `3 h 12 min`. */
export function durationOf(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
