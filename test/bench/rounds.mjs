import { median, spread } from "./statistics.mjs";

export async function inTurn(contenders, rounds, measure) {
  const results = Object.fromEntries(contenders.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const contender of contenders) {
      process.stderr.write(`round ${round} of ${rounds}: ${contender.name}\n`);
      results[contender.name].push(await measure(contender));
    }
  }
  return results;
}

export function summarize({ contenders, bases = {} }) {
  const [first] = Object.keys(contenders);
  return Object.entries(contenders).map(([name, rounds]) => {
    const base = contenders[bases[name] ?? first];
    const figures = Object.keys(rounds[0].figures ?? {});
    return {
      name,
      rate: valuesOf(rounds, ({ rate }) => rate),
      cpu: valuesOf(rounds, totalCpu),
      rateRatio: ratioOf(rounds, base, ({ rate }) => rate),
      cpuRatio: ratioOf(base, rounds, totalCpu),
      cpuUs: Object.fromEntries(
        Object.keys(rounds[0].cpuUs ?? {}).map((process) => [
          process,
          median(rounds.map(({ cpuUs }) => cpuUs[process])),
        ]),
      ),
      figures: Object.fromEntries(
        figures.map((figure) => [figure, spread(rounds.map((round) => round.figures[figure]))]),
      ),
    };
  });
}

function totalCpu({ cpuUs }) {
  return cpuUs && Object.values(cpuUs).reduce((sum, one) => sum + one, 0);
}

function valuesOf(rounds, valueOf) {
  return valueOf(rounds[0]) === undefined ? undefined : spread(rounds.map(valueOf));
}

function ratioOf(rounds, base, valueOf) {
  if (valueOf(rounds[0]) === undefined) return undefined;
  return spread(rounds.map((round, index) => valueOf(round) / valueOf(base[index])));
}

export function printTable(result) {
  console.log(`\n${tableOf(result)}`);
  if (result.note !== undefined) console.log(result.note);
}

export function tableOf(result) {
  const rows = summarize(result).map((row) => ({
    contender: row.name,
    ...(row.rate && {
      "events/s": rangeText(row.rate, 0),
      "rate ratio": rangeText(row.rateRatio, 2),
    }),
    ...(row.cpu && { "CPU ratio": rangeText(row.cpuRatio, 2), "CPU µs an event": cpuText(row) }),
    ...Object.fromEntries(
      Object.entries(row.figures).map(([name, value]) => [name, rangeText(value, 1)]),
    ),
  }));
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [
    keys,
    keys.map(() => "---"),
    ...rows.map((row) => keys.map((key) => row[key] ?? "")),
  ];
  return [`${result.title}\n`, ...lines.map((cells) => `| ${cells.join(" | ")} |`)].join("\n");
}

function rangeText({ middle, least, most }, digits) {
  const text = (value) => value.toFixed(digits);
  return least === most ? text(middle) : `${text(middle)} (${text(least)}–${text(most)})`;
}

/** @param {Record<string, any>} row */
function cpuText({ cpu, cpuUs }) {
  const parts = Object.entries(cpuUs).map(([process, us]) => `${process} ${rounded(us)}`);
  const total = rounded(cpu.middle);
  return parts.length === 1 ? `${total}` : `${total} (${parts.join(", ")})`;
}

const rounded = (value) => Math.round(value);
