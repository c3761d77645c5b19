import { cpuText, rangeText, summarize } from "../rounds.mjs";
import { barChart } from "./bar-chart.mjs";
import { sizes } from "./sizes.mjs";
import { table } from "./table.mjs";

/** What a chart shows of a row, by the ending of its file's name. */
const MEASURES = {
  rate: { text: "events a second", better: "longer", of: ({ rate }) => rate },
  cpu: { text: "µs of CPU an event, all processes", better: "shorter", of: ({ cpu }) => cpu },
  "ack-p99": {
    text: "ms from due to answered, 99th percentile",
    better: "shorter",
    digits: 1,
    of: ({ figures }) => figures["ack p99"],
  },
  "completed-p99": {
    text: "ms from due to completed, 99th percentile",
    better: "shorter",
    digits: 1,
    of: ({ figures }) => figures["completed p99"],
  },
};

/** Results that have charts, and which. */
const CHARTS = {
  ingress: ["rate", "cpu"],
  worker: ["rate", "cpu"],
  "worker, set, 100 at once": ["cpu"],
  careful: ["rate", "cpu"],
  pipeline: ["rate", "cpu"],
  latency: ["ack-p99", "completed-p99"],
  "growth, worker": ["cpu"],
  "growth, ingress": ["cpu"],
};

/** The charts of a measurement: SVG by file name. */
export function chartsOf({ results }) {
  return Object.fromEntries(
    Object.entries(results).flatMap(([name, result]) =>
      (CHARTS[name] ?? []).map((measure) => [fileOf(name, measure), chart(result, measure)]),
    ),
  );
}

const fileOf = (name, measure) => `${name.replaceAll(/\W+/g, "-")}-${measure}.svg`;

function chart(result, measure) {
  const { text, better, digits, of } = MEASURES[measure];
  const bars = summarize(result).map((row) => ({
    label: row.name,
    spread: of(row),
    isOurs: row.name.startsWith("millrace"),
  }));
  return barChart({ title: result.title, note: `${text}; ${better} is better`, bars, digits });
}

/** Markdown for the pages, by the name of the block that it replaces. */
export function blocksOf(measured) {
  const { results } = measured;
  const blocks = {};
  for (const [name, result] of Object.entries(results)) blocks[name] = section(name, result);
  if (results.pipeline === undefined) return blocks;
  // The machine and the README's comparison are of a whole measurement. A single part, measured again on another
  // machine, must not stand for all of them.
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

function section(name, result) {
  const rows = summarize(result);
  const rounds = Object.values(result.contenders)[0].length;
  const images = (CHARTS[name] ?? []).map(
    (measure) => `![${name}: ${MEASURES[measure].text}](performance/${fileOf(name, measure)})`,
  );
  const counted = rounds === 1 ? "One round" : `Medians of ${rounds} rounds (lowest–highest)`;
  const lines = [
    `${result.title}. ${counted}.`,
    ...images,
    table(rows.map(columnsOf)),
    result.note,
  ];
  return lines.filter((line) => line !== undefined).join("\n\n");
}

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

/** What a reader of the README compares. */
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
