import { writeFile } from "node:fs/promises";
import { redisServerPath } from "../support/redis-server.ts";
import { runMutants } from "./mutants/main.ts";
import { HELP, readOptions, type FaultsOptions } from "./options.ts";
import { printReport } from "./print.ts";
import { runFaults, type Report } from "./run.ts";

const print = (text: string) => void process.stdout.write(`${text}\n`);
const seconds = () => `${Math.round(performance.now() / 1_000)} s`.padStart(6);

async function main(): Promise<number> {
  const [first, ...rest] = process.argv.slice(2);
  if (first === "mutants") return await runMutants(rest);
  const options = readOptions(process.argv.slice(2));
  if (options.help) {
    print(HELP);
    return 0;
  }
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      // What was started is ended at exit, by its pid.
      if (interrupted.signal.aborted) process.exit(130);
      interrupted.abort();
      print("Breaking off; once more ends at once");
    });
  }
  const reports: Report[] = [];
  for (const combination of options.combinations) {
    if (interrupted.signal.aborted) break;
    const report = await runOne(options, combination, interrupted.signal).catch((error) => {
      if (!interrupted.signal.aborted) throw error;
    });
    if (report !== undefined) reports.push(report);
  }
  if (options.json !== undefined) await writeFile(options.json, JSON.stringify(reports, null, 2));
  const good = reports.length === options.combinations.length && reports.every(({ ok }) => ok);
  print(`${reports.filter(({ ok }) => ok).length} of ${options.combinations.length} runs are good`);
  return interrupted.signal.aborted ? 130 : good ? 0 : 1;
}

async function runOne(
  options: FaultsOptions,
  combination: FaultsOptions["combinations"][number],
  signal: AbortSignal,
): Promise<Report> {
  if (combination.backend === "redis" && redisServerPath() === undefined) {
    throw new Error("Cannot run on Redis: no redis-server on PATH (apt-get install redis-server)");
  }
  const report = await runFaults({
    ...combination,
    seed: options.seed,
    only: options.only,
    rate: options.rate,
    faultsMs: options.minutes * 60_000,
    drainMs: options.drainMs,
    groups: options.groups,
    say: (line) => print(`${seconds()}  ${line}`),
    signal,
  });
  print(printReport(report));
  return report;
}

process.exit(
  await main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }),
);
