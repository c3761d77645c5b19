import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { describeOnRedis } from "../support/redis.ts";

// Each part of the bench once, as small as it gets: so that contenders, counts, and checks keep working. What
// it measures at this size says nothing.

const RUN = fileURLToPath(new URL("run.mjs", import.meta.url));
const SMALL = ["--rounds", "1", "--seconds", "1", "--events", "200"];
const SHAPES = ["pair", "together", "typed", "five", "await", "hot", "hot100", "failing", "slow"];
const EVERY_SHAPE = ["worker", ...SHAPES.map((shape) => `worker, ${shape}`)];
const PARTS: [string, string[], string[]][] = [
  ["ingress", [], ["ingress"]],
  ["worker", ["--processes", "2"], ["worker"]],
  ["worker", ["--shape", "all", "--only", "prepared"], EVERY_SHAPE],
  ["worker", ["--shape", "set", "--only", "millrace"], ["worker, set"]],
  ["worker", ["--shape", "unsigned", "--only", "millrace"], ["worker, unsigned"]],
  ["careful", [], ["careful"]],
  ["handlers", [], ["handlers, call", "handlers, emit"]],
  ["pipeline", [], ["pipeline"]],
  // What each of the others does in it, it does in "pipeline" too.
  ["latency", ["--only", "millrace"], ["latency"]],
  ["growth", ["--rows", "2000", "--waiting", "300"], ["growth, worker", "growth, ingress"]],
];

interface Measured {
  readonly results: Record<string, { contenders: Record<string, Round[]> }>;
}
interface Round {
  readonly rate?: number;
  readonly cpuUs?: Record<string, number>;
  readonly figures?: Record<string, number>;
}

describeOnRedis("the bench", () => {
  test.each(PARTS)("measures %s %j", { timeout: 600_000 }, async (part, options, names) => {
    const json = join(newFolder(), "measured.json");
    expect(await run([part, ...SMALL, ...options, "--json", json])).toEqual({ code: 0 });
    const { results } = JSON.parse(await readFile(json, "utf8")) as Measured;
    expect(Object.keys(results)).toEqual(names);
    for (const { contenders } of Object.values(results)) {
      for (const [round] of Object.values(contenders)) expectNumbers(round);
    }
  });
});

async function run(args: string[]): Promise<{ code: number; said?: string }> {
  const child = spawn(process.execPath, [RUN, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (said += data));
  const [code] = (await once(child, "close")) as [number];
  return code === 0 ? { code } : { code, said };
}

function expectNumbers(round: Round | undefined): void {
  const { rate, cpuUs = {}, figures = {} } = round ?? {};
  const numbers = [
    ...(rate === undefined ? [] : [rate]),
    ...Object.values({ ...cpuUs, ...figures }),
  ];
  expect(numbers.length).toBeGreaterThan(0);
  expect(numbers.filter((value) => !Number.isFinite(value))).toEqual([]);
}
