/** Measures each contender once a round, one after another, so that a slow minute hits all. */
export async function inTurn(contenders, rounds, measure) {
  const results = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [name, contender] of Object.entries(contenders)) {
      process.stderr.write(`round ${round} of ${rounds}: ${name}\n`);
      results[name].push(await measure(contender));
    }
  }
  return results;
}

/**
 * Prints medians, as ratios of the first contender's within each round, with the lowest and the highest.
 * A round has a `rate` and, by process, the microseconds of CPU that an event takes (`cpuUs`).
 */
export function printTable(title, results) {
  const [usual] = Object.values(results);
  console.log(`\n${title}`);
  console.table(
    Object.entries(results).map(([contender, rounds]) => ({
      contender,
      "rate × usual": ratio(rounds, usual, ({ rate }) => rate),
      "CPU: usual / this": ratio(usual, rounds, totalCpu),
      "events/s": Math.round(median(rounds.map(({ rate }) => rate))),
      "CPU µs an event": cpuText(rounds),
    })),
  );
}

function totalCpu({ cpuUs }) {
  return Object.values(cpuUs).reduce((sum, one) => sum + one, 0);
}

function cpuText(rounds) {
  const names = Object.keys(rounds[0].cpuUs);
  const each = names.map((name) => Math.round(median(rounds.map(({ cpuUs }) => cpuUs[name]))));
  const total = Math.round(median(rounds.map(totalCpu)));
  return names.length === 1
    ? String(total)
    : `${total} (${names.map((name, index) => `${name} ${each[index]}`).join(", ")})`;
}

function ratio(rounds, base, valueOf) {
  const ratios = rounds.map((round, index) => valueOf(round) / valueOf(base[index]));
  const [middle, least, most] = [median(ratios), Math.min(...ratios), Math.max(...ratios)];
  return `${middle.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`;
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
