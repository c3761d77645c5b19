import { setTimeout as sleep } from "node:timers/promises";
import { check, totalsOf } from "./check/invariants.ts";
import {
  type AckName,
  type BackendName,
  type FaultEnvironment,
  openEnvironment,
} from "./environment/environment.ts";
import type { SetUp } from "./environment/servers.ts";
import { FAULTS } from "./faults/catalogue.ts";
import { canStrike, type Fault } from "./faults/fault.ts";
import { startLoad } from "./load/load.ts";
import { createRandom } from "./random.ts";
import { drawSchedule, type Entry, strikeSchedule } from "./schedule.ts";

interface RunOptions {
  readonly seed: number;
  readonly backend: BackendName;
  readonly ack: AckName;
  readonly only: readonly string[];
  readonly faultsMs: number;
  readonly rate: number;
  readonly drainMs: number;
  readonly groups?: boolean;
  readonly say: (line: string) => void;
  readonly signal?: AbortSignal;
}

export type Report = Awaited<ReturnType<typeof runFaults>>;

const WARM_UP_MS = 3_000;
const QUIET_MS = 8_000;
const MEASURED_RATE_MAX = 25;
const LONG_HANDLER = { FAULTS_HANDLER_TIMEOUT_MS: "45000" };

export async function runFaults(options: RunOptions) {
  const { seed, backend, ack, groups = true, say } = options;
  const random = createRandom(seed);
  const setUp = setUpOf(options.only);
  const schedule = drawSchedule(chosen(options, setUp), options.faultsMs, random.fork());
  say(`seed ${seed}, queue on ${backend}, ack ${ack}, groups ${groups ? "on" : "off"}`);
  const environment = await openEnvironment({
    ...{ backend, ack, groups, setUp },
    env: sparesOthers(schedule) ? LONG_HANDLER : {},
    say: (line) => say(`  ${line}`),
  });
  let keep = true;
  try {
    const report = await runOn(environment, schedule, options);
    keep = !report.ok;
    return report;
  } finally {
    const isKept = keep && options.signal?.aborted !== true;
    if (isKept) say(`the logs are left in ${environment.folder}`);
    await environment.end({ keep: isKept });
  }
}

function setUpOf(only: readonly string[]): SetUp {
  const needed = FAULTS.filter((fault) => narrow(fault, only).length > 0).flatMap(
    ({ setUp = [] }) => setUp,
  );
  const [setUp = "direct", ...others] = new Set(needed);
  if (others.length === 0) return setUp;
  throw new Error(`Cannot strike ${only.join(", ")} in one run: they need different set-ups`);
}

function chosen({ only, backend, ack, groups = true }: RunOptions, setUp: SetUp): Fault[] {
  const possible = FAULTS.filter((fault) => canStrike(fault, { backend, ack, groups, setUp }));
  if (only.length === 0) {
    const drawn = possible.filter(({ byName }) => byName !== true);
    return drawn.map((fault) => ({ ...fault, longWays: {} }));
  }
  return possible.flatMap((fault) => narrow(fault, only));
}

function narrow(fault: Fault, only: readonly string[]): Fault[] {
  if (only.includes(fault.id)) return [fault];
  const wanted = (ways: Fault["ways"] = {}) =>
    Object.fromEntries(Object.entries(ways).filter(([way]) => only.includes(`${fault.id}/${way}`)));
  const ways = wanted(fault.ways);
  const longWays = wanted(fault.longWays);
  const isWanted = Object.keys({ ...ways, ...longWays }).length > 0;
  return isWanted ? [{ ...fault, ways, longWays }] : [];
}

function sparesOthers(schedule: readonly Entry[]): boolean {
  return schedule.every(({ fault }) => fault.sparesOthers === true);
}

async function runOn(
  environment: FaultEnvironment,
  schedule: readonly Entry[],
  options: RunOptions,
) {
  const { rate, drainMs, say, signal = new AbortController().signal } = options;
  const isMeasured = sparesOthers(schedule);
  const load = startLoad(environment, {
    random: createRandom(options.seed).fork(),
    rate: isMeasured ? Math.min(rate, MEASURED_RATE_MAX) : rate,
  });
  const { log, senders } = load;
  const status = setInterval(() => say(`  ${statusOf(log, senders)}`), 10_000);
  const beganMs = Date.now();
  try {
    await sleep(isMeasured ? QUIET_MS : WARM_UP_MS);
    const struckMs = Date.now();
    say(`striking ${schedule.map(({ fault, way }) => `${fault.id}/${way}`).join(", ")}`);
    const troubles = await strikeSchedule(
      environment,
      schedule,
      { ...senders, log },
      { forMs: options.faultsMs, signal },
    );
    signal.throwIfAborted();
    const stretches = {
      quiet: { fromMs: beganMs, toMs: struckMs },
      struck: { fromMs: struckMs, toMs: Date.now() },
    };
    say("healing and draining");
    await environment.heal();
    const evidence = await load.settle({
      ...{ withinMs: drainMs, signal, keepUp: true },
      stretches: isMeasured ? stretches : undefined,
    });
    const findings = [
      ...(await check(evidence)),
      ...troubles.map((text) => ({ invariant: "HARNESS", text })),
    ];
    const faults = countStrikes(environment, schedule);
    const idle = faults.filter(({ scheduled, struck }) => scheduled > 0 && struck === 0);
    return {
      seed: options.seed,
      backend: environment.backend,
      ack: environment.ack,
      groups: environment.groups,
      faultsMs: options.faultsMs,
      totals: totalsOf(evidence, findings),
      findings: [
        ...findings,
        ...idle.map(({ id }) => ({ invariant: "HARNESS", text: `${id} never struck` })),
      ],
      faults,
      folder: findings.length === 0 ? undefined : environment.folder,
      ok: findings.length === 0 && idle.length === 0,
    };
  } finally {
    clearInterval(status);
    await load.close();
  }
}

function countStrikes(environment: FaultEnvironment, schedule: readonly Entry[]) {
  return FAULTS.map(({ id, title }) => ({
    id,
    title,
    scheduled: schedule.filter(({ fault }) => fault.id === id).length,
    struck: environment.struck.get(id) ?? 0,
  })).filter(({ scheduled }) => scheduled > 0);
}

function statusOf(
  log: { attempts: number; acknowledged: number },
  senders: { outstanding: number },
): string {
  return `${log.attempts} attempts, ${log.acknowledged} acknowledged, ${senders.outstanding} to do`;
}

const SHOWN_MAX = 5;

export function printReport(report: Report): string {
  const { totals, findings, faults, folder, ok } = report;
  const seen = new Map<string, number>();
  const shown = findings.filter(({ invariant }) => {
    seen.set(invariant, (seen.get(invariant) ?? 0) + 1);
    return (seen.get(invariant) ?? 0) <= SHOWN_MAX;
  });
  const hidden = findings.length - shown.length;
  return [
    "",
    `Queue on ${report.backend}, ack ${report.ack}, groups ${report.groups ? "on" : "off"}, seed ${report.seed}, ${report.faultsMs / 1_000} s of faults`,
    ...columns(Object.entries(totals).map(([name, value]) => [name, String(value)])),
    "",
    ...columns(
      faults.map(({ id, title, scheduled, struck }) => [
        id,
        `${struck} strikes in ${scheduled} turns`,
        title,
      ]),
    ),
    "",
    ...shown.map(({ invariant, text }) => `BREACH ${invariant}: ${text}`),
    ...(hidden > 0 ? [`... and ${hidden} more`] : []),
    ...(folder === undefined ? [] : [`The logs are left in ${folder}`]),
    ok ? "All invariants hold" : "NOT ALL INVARIANTS HOLD",
    "",
  ].join("\n");
}

export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>(
    (seen, row) => row.map((cell, index) => Math.max(cell.length, seen[index] ?? 0)),
    [],
  );
  return rows.map(
    (row) =>
      `  ${row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join("  ")
        .trimEnd()}`,
  );
}
