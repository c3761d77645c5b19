import type { Pool } from "pg";
import config from "../bad-input/fixture/millrace.config.ts";
import { VARIABLES } from "../bad-input/fixture/variables.ts";
import { readResponses } from "../bad-input/responses.ts";
import { BODY_CANARY, SECRET_CANARY } from "../bad-input/senders.ts";
import { heldBytes, readMetric } from "../support/metrics.ts";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { createPipeline } from "../support/pipeline.ts";
import { until } from "../support/until.ts";
import { makeCase, type FuzzCase } from "./cases.ts";
import { judge } from "./judge.ts";
import { play, type Played } from "./play.ts";
import { createSignedEvents, type SignedEvents } from "./signed-events.ts";

export interface FuzzOptions {
  readonly seed: number;
  /** How much: so many cases, which the seed makes, or as many as fit into milliseconds. */
  readonly length: { readonly cases: number } | { readonly ms: number };
  /** Within which what was sent is answered or its connection ended, milliseconds. */
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

export interface FuzzReport {
  readonly seed: number;
  readonly cases: number;
  /** How often each status came. */
  readonly answers: Readonly<Record<string, number>>;
  readonly accepted: number;
  /** What is wrong, with the bytes that showed it; empty when all is well. */
  readonly findings: readonly string[];
}

const CONCURRENCY = 12;
const FINDINGS_MAX = 20;
/** What the heap may have grown, with everything that is not yet collected. */
const GROWTH_BYTES_MAX = 32 * 1024 * 1024;

/** Sends what no sender should to an ingress, on Postgres alone: its ledger shows every byte it took. */
export async function runFuzz(databaseUrl: string, options: FuzzOptions): Promise<FuzzReport> {
  const pipeline = await createPipeline({ databaseUrl }, VARIABLES, config);
  try {
    return await fuzz(await pipeline.start("ingress"), pipeline.database, options);
  } finally {
    await pipeline.stop();
  }
}

/** Sends the cases, then looks at what they left behind. */
async function fuzz(
  ingress: MillraceProcess,
  database: Pool,
  options: FuzzOptions,
): Promise<FuzzReport> {
  const port = Number(new URL(ingress.url).port);
  const signed = createSignedEvents();
  const answers: Record<string, number> = {};
  const findings: string[] = [];
  let index = 0;

  const playNext = async () => {
    const fuzzCase = makeCase(options.seed, (index += 1));
    signed.add(fuzzCase.signed);
    const played = await play(port, fuzzCase, options.limitMs);
    const { all } = readResponses(played.received);
    for (const { status } of all) answers[status] = (answers[status] ?? 0) + 1;
    note(signed, fuzzCase, played);
    for (const wrong of judge(fuzzCase, played)) {
      if (findings.length < FINDINGS_MAX) findings.push(describe(wrong, fuzzCase, played));
    }
  };
  const playUntil = async (done: () => boolean) => {
    const sender = async () => {
      while (!done() && options.signal?.aborted !== true) await playNext();
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, sender));
  };

  const { length } = options;
  const startedAt = performance.now();
  const hasPlayed = (share: number) =>
    "cases" in length
      ? index >= length.cases * share
      : performance.now() > startedAt + length.ms * share;
  await playUntil(() => hasPlayed(0.2));
  const before = await heldBytes(ingress.url);
  await playUntil(() => hasPlayed(1) || findings.length >= FINDINGS_MAX);

  const aftermath = await lookAround(ingress, before, async () => {
    const some = index + 200;
    await playUntil(() => index >= some);
  });
  const { rows, wrong } = await signed.compare(database);
  findings.push(...aftermath, ...wrong.slice(0, FINDINGS_MAX));
  return { seed: options.seed, cases: index, answers, accepted: rows, findings };
}

function note(signed: SignedEvents, fuzzCase: FuzzCase, played: Played): void {
  if (fuzzCase.verdict === "refused") signed.refused(fuzzCase.signed);
  if (fuzzCase.verdict !== "accepted") return;
  const { all } = readResponses(played.received);
  signed.acknowledged(fuzzCase.signed.filter((_, part) => (all[part]?.status ?? 500) < 300));
}

function describe(wrong: string, fuzzCase: FuzzCase, { received }: Played): string {
  const sent = Buffer.concat(fuzzCase.segments).toString("latin1");
  return [
    `${wrong} (${fuzzCase.name}, ${fuzzCase.signed[0]?.eventId})`,
    `  sent ${fuzzCase.segments.length} segments: ${JSON.stringify(sent.slice(0, 1_500))}`,
    `  came: ${JSON.stringify(received.slice(0, 600))}`,
  ].join("\n");
}

/** What the process is like afterwards: alive, empty-handed, no larger, and discreet. */
async function lookAround(
  ingress: MillraceProcess,
  before: number,
  playMore: () => Promise<void>,
): Promise<readonly string[]> {
  const wrong: string[] = [];
  const holds = async (what: string, condition: () => Promise<boolean>) => {
    await until(condition).catch(() => wrong.push(what));
  };
  await holds("it is not healthy", async () => (await fetch(`${ingress.url}/healthz`)).ok);
  await holds("bytes are still in flight", async () => {
    return (await readMetric(ingress.url, "millrace_ingress_bytes_in_flight")) === 0;
  });
  // What can be freed is freed when there is more to take in; what leaks only grows.
  await holds("its memory has grown", async () => {
    await playMore();
    return (await heldBytes(ingress.url)) < before + GROWTH_BYTES_MAX;
  });
  for (const canary of [BODY_CANARY, SECRET_CANARY]) {
    if (ingress.output().includes(canary)) wrong.push(`${canary} in its log`);
  }
  return wrong;
}
