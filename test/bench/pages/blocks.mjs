import { cpuText, rangeText, summarize } from "../rounds.mjs";

export function blocksOf(measured) {
  const { results } = measured;
  const blocks = {};
  for (const [name, result] of Object.entries(results)) blocks[name] = section(result);
  if (results.pipeline === undefined) return blocks;
  // The machine and the README's comparison are of a whole measurement.
  return {
    ...blocks,
    machine: machine(measured),
    summary: summary(results),
    sizes: sizes(results.pipeline),
  };
}

function machine({ day, machine: facts }) {
  const { cpu, cores, memoryGiB, node, redis, postgres } = facts;
  return (
    `Measured on ${day}: ${cpu}, ${cores} cores, ${memoryGiB} GiB of memory, Node.js ${node}, ` +
    `Redis ${redis} with \`appendfsync everysec\`, PostgreSQL ${postgres} with its default settings.`
  );
}

function section(result) {
  const rows = summarize(result);
  const rounds = Object.values(result.contenders)[0].length;
  const counted = rounds === 1 ? "One round" : `Medians of ${rounds} rounds (lowest–highest)`;
  const lines = [`${result.title}. ${counted}.`, table(rows.map(columnsOf)), result.note];
  return lines.filter((line) => line !== undefined).join("\n\n");
}

/** @param {Record<string, any>} contender */
function columnsOf({ name, rate, rateRatio, cpuRatio, figures, ...row }) {
  return {
    contender: name,
    ...(rate && { "events/s": rangeText(rate, 0), "rate ratio": rangeText(rateRatio, 2) }),
    ...(row.cpu && { "CPU ratio": rangeText(cpuRatio, 2), "CPU µs an event": cpuText(row) }),
    ...Object.fromEntries(
      Object.entries(figures).map(([figure, value]) => [figure, rangeText(value, 1)]),
    ),
  };
}

function summary(results) {
  const rows = [
    ratioRow(results.ingress, "deliveries that an ingress answers per second", "rateRatio"),
    ratioRow(results.worker, "events that a worker completes per second", "rateRatio"),
    ratioRow(
      results["worker, set, 100 at once"],
      "the same, with a set-based handler and a concurrency of 100",
      "rateRatio",
    ),
    ratioRow(results.pipeline, "deliveries completed per second, ingress and worker", "rateRatio"),
    ratioRow(results.pipeline, "events for the same CPU, all processes", "cpuRatio"),
    latencyRow(results.latency, "ms to the answer, 99th percentile", "ack p99"),
    latencyRow(results.latency, "ms to the completed effect, 99th percentile", "completed p99"),
  ];
  return table(rows.filter((row) => row !== undefined));
}

function ratioRow(result, what, ratio) {
  const row = millraceRow(result);
  return (
    row && {
      "": what,
      "the usual code": "1.0x",
      Millrace: rangeText(row[ratio], 1).replace(/^[\d.]+/u, (number) => `${number}x`),
    }
  );
}

function latencyRow(result, what, figure) {
  const row = millraceRow(result);
  if (row === undefined) return undefined;
  const [usual] = summarize(result);
  const cell = ({ figures }) => rangeText(figures[figure], 1);
  return { "": what, "the usual code": cell(usual), Millrace: cell(row) };
}

const millraceRow = (result) => result && summarize(result).find(({ name }) => name === "millrace");

const RATES = [100, 1_000, 10_000];
const BUSY = 0.7;

function sizes(pipeline) {
  const { cpuUs } = summarize(pipeline).find(({ name }) => name === "millrace");
  const cores = (process, rate) => (cpuUs[process] * rate) / 1e6;
  const processes = (process, rate) => Math.ceil(cores(process, rate) / BUSY);
  const rows = RATES.map((rate) => ({
    "events/s": count(rate),
    "ingress processes": processes("ingress", rate),
    "worker processes": processes("worker", rate),
    "Redis: of its one core": shareOfOne(cores("redis", rate)),
    "Postgres: cores": cores("postgres", rate).toFixed(1),
  }));
  const ends = ["ingress", "worker", "redis"]
    .map((process) => ({ process, rate: 1e6 / cpuUs[process] }))
    .toSorted((a, b) => a.rate - b.rate);
  const [first] = ends;
  const redis = ends.find(({ process }) => process === "redis");
  return [
    table(rows),
    `With one process of each, the ${NAMES[first.process]} is the first to use all of a core, at about ` +
      `${count(first.rate)} events/s. More processes raise that. Redis' one core ends at about ` +
      `${count(redis.rate)} events/s (${Math.round(cpuUs.redis)} µs an event).`,
  ].join("\n\n");
}

const NAMES = { ingress: "ingress", worker: "worker", redis: "Redis server" };

const shareOfOne = (cores) => (cores > 1 ? "too much" : `${Math.round(cores * 100)} %`);

const count = (value) => Number(value.toPrecision(2)).toLocaleString("en-US");

function table(rows) {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [
    keys,
    keys.map(() => "---"),
    ...rows.map((row) => keys.map((key) => row[key] ?? "")),
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
