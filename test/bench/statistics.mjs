export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function spread(values) {
  return { middle: median(values), least: Math.min(...values), most: Math.max(...values) };
}

export function percentiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  return { p50: at(0.5), p99: at(0.99) };
}
