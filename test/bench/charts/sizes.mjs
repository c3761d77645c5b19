import { summarize } from "../rounds.mjs";
import { table } from "./table.mjs";

const RATES = [100, 1_000, 10_000];
/** A process that is busier has no time left for bursts. */
const BUSY = 0.7;

/** What runs so many events a second, reckoned from the CPU that an event takes in the pipeline. */
export function sizes(pipeline) {
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

/** Two digits are all that such a reckoning is worth. */
const count = (value) => Number(value.toPrecision(2)).toLocaleString("en-US");
