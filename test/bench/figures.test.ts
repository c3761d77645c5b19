import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const at = (path: string) => new URL(path, import.meta.url).href;
const { blocksOf } = (await import(at("pages/blocks.mjs"))) as {
  blocksOf(measured: unknown): Record<string, string>;
};
const { fillBlocks } = (await import(at("pages/write-pages.mjs"))) as {
  fillBlocks(page: string, blocks: Record<string, string>): string;
};
const { percentiles, slope } = (await import(at("statistics.mjs"))) as {
  percentiles(values: number[]): { p50: number; p99: number };
  slope(points: [number, number][]): number;
};

const cpuUs = { ingress: 100, worker: 400, redis: 50, postgres: 450 };
const round = (rate: number, times: number) => ({
  rate,
  cpuUs: Object.fromEntries(Object.entries(cpuUs).map(([name, us]) => [name, us * times])),
});
const measured = {
  day: "2026-11-22",
  machine: { cpu: "a CPU", cores: 2, memoryGiB: 8, node: "20", redis: "7", postgres: "15" },
  results: {
    pipeline: {
      title: 'Pipeline of "100" events',
      contenders: {
        "usual <code>": [round(1_000, 2), round(500, 4), round(2_000, 1)],
        millrace: [round(3_000, 1), round(1_000, 1), round(3_000, 1)],
      },
    },
  },
};

test("a ratio is that of the same round, as a median with the lowest and the highest", () => {
  const { pipeline, summary, sizes, machine } = blocksOf(measured);
  expect(pipeline).toContain("| usual <code> | 1000 (500–2000) | 1.00 | 1.00 | 2000 (");
  expect(pipeline).toContain(
    "| millrace | 3000 (1000–3000) | 2.00 (1.50–3.00) | 2.00 (1.00–4.00) | 1000 (",
  );
  expect(pipeline).toContain("Medians of 3 rounds");
  expect(summary).toContain("2.0x (1.5–3.0)");
  expect(machine).toContain("a CPU, 2 cores");
  expect(sizes).toContain("| 10,000 | 2 | 6 | 50 % | 4.5 |");
  expect(sizes).toContain("the worker is the first to use all of a core, at about 2,500 events/s");
  expect(sizes).toContain("Redis' one core ends at about 20,000 events/s (50 µs an event)");
});

test("a part that is measured again changes neither the machine nor the comparison of the whole", () => {
  const { pipeline } = measured.results;
  const blocks = blocksOf({ ...measured, results: { worker: pipeline } });
  expect(Object.keys(blocks)).toEqual(["worker"]);
});

test("a figure that not every contender has leaves the others' cells empty", () => {
  const [usual, millrace] = [
    round(1_000, 2),
    { ...round(1_000, 1), figures: { "% in groups": 90 } },
  ];
  const results = {
    worker: { title: "Worker", contenders: { usual: [usual], millrace: [millrace] } },
  };
  const { worker } = blocksOf({ ...measured, results });
  expect(worker).toMatch(/\| contender \|.*\| % in groups \|\n/);
  expect(worker).toMatch(/\| usual \|.*\|  \|\n\| millrace \|.*\| 90\.0 \|$/m);
  expect(worker).toContain("One round");
});

test("a page gets what was measured, and keeps the rest", () => {
  const page = [
    "before",
    ...["<!-- measured: pipeline -->", "old", "<!-- end -->"],
    "between",
    ...["<!-- measured: memory -->", "old", "<!-- end -->"],
  ].join("\n");
  const filled = fillBlocks(page, { pipeline: "new $1" });
  expect(filled).toContain("<!-- measured: pipeline -->\n\nnew $1\n\n<!-- end -->\nbetween");
  expect(filled).toContain("<!-- measured: memory -->\nold\n<!-- end -->");
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
  const folder = mkdtempSync(join(tmpdir(), "millrace-figures-"));
  const file = join(folder, "other.json");
  writeFileSync(file, "{}");
  const mistakes: [string, string][] = [
    ["worker --only nobody", 'No contender of "worker" has "nobody" in its name. Try --help'],
    ["--rounds 0", "--rounds takes a whole number above 0. Try --help"],
    ["ingress --shape slow", '--shape is for "worker". Try --help'],
    ["--pages", "--pages takes files of --json. Try --help"],
    [`--pages ${file}`, `Cannot read ${file}: it was not written by --json`],
  ];
  for (const [args, message] of mistakes) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [fileURLToPath(at("run.mjs")), ...args.split(" ")],
      { encoding: "utf8" },
    );
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: "", stderr: `${message}\n` });
  }
  rmSync(folder, { recursive: true });
});
