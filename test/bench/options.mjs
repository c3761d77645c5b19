import { readOptions } from "../../scripts/read-options.mjs";
import { SHAPES } from "./shapes.mjs";
import { PARTS } from "./parts/index.mjs";

const NUMBERS = {
  rounds: 3,
  seconds: 5,
  events: undefined,
  concurrency: 20,
  processes: 1,
  rows: 5_000_000,
  waiting: 300_000,
};

const list = (entries) => entries.map(([name, text]) => `  ${name.padEnd(20)} ${text}`).join("\n");

const HELP = `Usage: npm run bench -- [part ...] [options]

Measures Millrace next to the usual hand-written code, and to other queues, in turn, on a Redis
and a Postgres of its own. Every event must have its effect, and have it once, or the round does not count.

Parts (default: ingress and worker)
${list(Object.entries(PARTS).map(([name, { help }]) => [name, help]))}

Options
  --only <text>        only contenders with this text in their name, and the baseline
  --rounds <n>         rounds of each contender, interleaved (default: 3)
  --seconds <n>        seconds of load in "ingress", "latency", and "growth" (default: 5)
  --events <n>         events of a round (default: 10000)
  --concurrency <n>    events that a worker handles at once (default: 20)
  --processes <n>      workers of a contender (default: 1)
  --rows <n>           completed rows in "growth" (default: 5000000)
  --waiting <n>        waiting jobs in "growth" (default: 300000)
  --shape <shape>      what the handlers of "worker" do (default: insert), or "all":
${list(Object.entries(SHAPES).map(([name, { title }]) => [`  ${name}`, title]))}
  --json <file>        write every round there
  -h, --help           this text

Rates are this machine's while it does whatever else it does: read the ratios. CPU is the figure that holds on
a busy machine.`;

const text = /** @type {const} */ ({ type: "string" });

export function readBenchOptions() {
  const given = readOptions(
    {
      ...Object.fromEntries(Object.keys(NUMBERS).map((name) => [name, text])),
      shape: { type: "string", default: "insert" },
      only: text,
      json: text,
    },
    HELP,
    findMistake,
    { words: true },
  );
  const { words, shape, only, json } = given;
  const numbers = Object.entries(NUMBERS).map(([name, value]) => [
    name,
    given[name] === undefined ? value : Number(given[name]),
  ]);
  const parts = partsOf(words);
  return { ...Object.fromEntries(numbers), parts, shape, only, json };
}

function findMistake({ words, shape, only, ...given }) {
  const unknown = words.find((word) => !Object.hasOwn(PARTS, word));
  if (unknown !== undefined) return `There is no part "${unknown}"`;
  const isShape = shape === "all" || Object.hasOwn(SHAPES, shape);
  if (!isShape) return `There is no shape "${shape}"`;
  if (shape !== "insert" && !partsOf(words).includes("worker")) return '--shape is for "worker"';
  const odd = Object.keys(NUMBERS).find(
    (name) => given[name] !== undefined && !/^[1-9]\d*$/.test(given[name]),
  );
  if (odd !== undefined) return `--${odd} takes a whole number above 0`;
  const without = partsOf(words).find((part) => contendersOf(part, only).length === 0);
  if (without !== undefined) return `No contender of "${without}" has "${only}" in its name`;
}

const partsOf = (words) => (words.length === 0 ? ["ingress", "worker"] : [...new Set(words)]);

export function contendersOf(part, only = "") {
  const { contenders } = PARTS[part];
  const named = contenders.filter(({ name }) => name.includes(only));
  return named.length === 0 ? [] : contenders.filter((one, at) => at === 0 || named.includes(one));
}
