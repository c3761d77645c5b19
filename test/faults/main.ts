import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { redisServerPath } from "../support/redis-server.ts";
import type { AckName, BackendName } from "./environment/environment.ts";
import { FAULTS } from "./faults/catalogue.ts";
import type { Fault } from "./faults/fault.ts";
import { runMutants } from "./mutants/main.ts";
import { printReport, type Report, runFaults } from "./run.ts";

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

type FaultsOptions = ReturnType<typeof readOptions>;

const HELP = `npm run faults -- [options]

Runs Millrace on real servers and processes, breaks them at random, heals them, and checks the invariants.

  --seed N              the seed of the schedule; default: drawn, and printed
  --minutes M           how long faults are struck, for each combination; default 1
  --rate N              deliveries a second; default 120
  --only F3,F12/frozen  these faults alone, or one way of them
  --drain S             seconds in which everything must be settled in the end; default 120
  --backend redis|postgres, --ack queue|ledger
                        one combination; default: each of the four
  --no-groups           records every event before its first attempt (MILLRACE_GROUPS=off)
  --json FILE           writes the reports there
  --help

Faults:
${FAULTS.map((fault) => `  ${fault.id.padEnd(5)} ${fault.title}${needsName(fault) ? " (by name)" : ""}`).join("\n")}

Without --only, what stands there by name is not struck.
`;

function needsName({ byName, setUp }: Fault): boolean {
  return byName === true || setUp !== undefined;
}

function readOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: "boolean", default: false },
      seed: { type: "string" },
      minutes: { type: "string", default: "1" },
      rate: { type: "string", default: "120" },
      only: { type: "string", default: "" },
      drain: { type: "string", default: "120" },
      backend: { type: "string" },
      ack: { type: "string" },
      "no-groups": { type: "boolean", default: false },
      json: { type: "string" },
    },
  });
  return {
    help: values.help,
    seed:
      values.seed === undefined
        ? Math.floor(Math.random() * 1_000_000)
        : positive("--seed", values.seed),
    minutes: positive("--minutes", values.minutes),
    rate: positive("--rate", values.rate),
    only: readFaults(values.only),
    combinations: combine(
      oneOf("--backend", values.backend, ["redis", "postgres"] as const),
      oneOf("--ack", values.ack, ["queue", "ledger"] as const),
    ),
    drainMs: positive("--drain", values.drain) * 1_000,
    groups: !values["no-groups"],
    json: values.json,
  };
}

function combine(backends: readonly BackendName[], acks: readonly AckName[]) {
  return backends.flatMap((backend) => acks.map((ack) => ({ backend, ack })));
}

function oneOf<T extends string>(
  name: string,
  value: string | undefined,
  allowed: readonly T[],
): readonly T[] {
  if (value === undefined) return allowed;
  const found = allowed.filter((one) => one === value);
  if (found.length === 0)
    throw new Error(`Cannot use ${name} ${value}: one of ${allowed.join(", ")}`);
  return found;
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new Error(`Cannot use ${name} ${text}: not a positive number`);
}

function readFaults(text: string): readonly string[] {
  const ids = text.split(",").filter((id) => id !== "");
  const known = new Set(
    FAULTS.flatMap(({ id, ways, longWays }) => [
      id,
      ...Object.keys({ ...ways, ...longWays }).map((way) => `${id}/${way}`),
    ]),
  );
  const unknown = ids.filter((id) => !known.has(id));
  if (unknown.length > 0) throw new Error(`Cannot strike ${unknown.join(", ")}: no such fault`);
  return ids;
}

process.exit(
  await main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }),
);
