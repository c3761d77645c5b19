import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const at = (path: string) => new URL(path, import.meta.url).href;
const { tableOf } = (await import(at("rounds.mjs"))) as { tableOf(result: unknown): string };

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
