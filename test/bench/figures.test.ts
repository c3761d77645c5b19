import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const at = (path: string) => new URL(path, import.meta.url).href;
const { tableOf } = (await import(at("rounds.mjs"))) as { tableOf(result: unknown): string };
const { percentiles, slope } = (await import(at("statistics.mjs"))) as {
  percentiles(values: number[]): { p50: number; p99: number };
  slope(points: [number, number][]): number;
};

const cpuUs = { ingress: 100, worker: 400, redis: 50, postgres: 450 };
const round = (rate: number, times: number) => ({
  rate,
  cpuUs: Object.fromEntries(Object.entries(cpuUs).map(([name, us]) => [name, us * times])),
});

test("a ratio is that of the same round, as a median with the lowest and the highest", () => {
  const table = tableOf({
    title: "Pipeline of 100 events",
    contenders: {
      usual: [round(1_000, 2), round(500, 4), round(2_000, 1)],
      millrace: [round(3_000, 1), round(1_000, 1), round(3_000, 1)],
    },
  });
  expect(table).toContain("| usual | 1000 (500–2000) | 1.00 | 1.00 | 2000 (");
  expect(table).toContain(
    "| millrace | 3000 (1000–3000) | 2.00 (1.50–3.00) | 2.00 (1.00–4.00) | 1000 (",
  );
});

test("a figure that not every contender has leaves the others' cells empty", () => {
  const millrace = { ...round(1_000, 1), figures: { "% in groups": 90 } };
  const table = tableOf({
    title: "Worker",
    contenders: { usual: [round(1_000, 2)], millrace: [millrace] },
  });
  expect(table).toMatch(/\| contender \|.*\| % in groups \|\n/);
  expect(table).toMatch(/\| usual \|.*\|  \|\n\| millrace \|.*\| 90\.0 \|$/m);
});

test("a percentile is a value that so many do not exceed", () => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  expect(percentiles(values)).toEqual({ p50: 100, p99: 198 });
  expect(percentiles([7])).toEqual({ p50: 7, p99: 7 });
});

test("a slope is that of the line through the points", () => {
  const points = [0, 10, 20].map((x): [number, number] => [x, 5 + 3 * x]);
  expect(slope(points)).toBeCloseTo(3);
});

test("each wrong option is one clear line", () => {
  const mistakes: [string, string][] = [
    ["worker --only nobody", 'No contender of "worker" has "nobody" in its name. Try --help'],
    ["--rounds 0", "--rounds takes a whole number above 0. Try --help"],
    ["ingress --shape slow", '--shape is for "worker". Try --help'],
  ];
  for (const [args, message] of mistakes) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [fileURLToPath(at("run.mjs")), ...args.split(" ")],
      { encoding: "utf8" },
    );
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: "", stderr: `${message}\n` });
  }
});
