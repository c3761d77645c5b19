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

/** Prints medians, as ratios of the first contender's within each round. */
export function printTable(title, results) {
  const [usual] = Object.values(results);
  console.log(`\n${title}`);
  console.table(
    Object.entries(results).map(([contender, rounds]) => ({
      contender,
      "× usual": ratio(rounds, usual, "rate"),
      "CPU × usual": ratio(rounds, usual, "cpuUs"),
      "events/s": Math.round(median(rounds.map(({ rate }) => rate))),
      "CPU µs an event": Math.round(median(rounds.map(({ cpuUs }) => cpuUs))),
    })),
  );
}

function ratio(rounds, usual, key) {
  const value = median(rounds.map((round, index) => round[key] / usual[index][key]));
  return Math.round(value * 100) / 100;
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
