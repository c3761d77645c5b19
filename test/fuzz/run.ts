import { createHash } from "node:crypto";
import { createConnection } from "node:net";
import type { Pool } from "pg";
import config from "../bad-input/fixture/millrace.config.ts";
import { VARIABLES } from "../bad-input/fixture/variables.ts";
import { readResponses, type Response } from "../bad-input/responses.ts";
import { BODY_CANARY, SECRET_CANARY } from "../bad-input/senders.ts";
import { heldBytes, readMetric } from "../support/metrics.ts";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { createPipeline } from "../support/pipeline.ts";
import { until } from "../support/until.ts";
import { makeCase, type FuzzCase, type SignedEvent } from "./cases.ts";

export interface FuzzOptions {
  readonly seed: number;
  readonly length: { readonly cases: number } | { readonly ms: number };
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

export interface FuzzReport {
  readonly cases: number;
  readonly answers: Readonly<Record<string, number>>;
  readonly accepted: number;
  readonly findings: readonly string[];
}

const CONCURRENCY = 12;
const FINDINGS_MAX = 20;
/** What the heap may have grown, with everything that is not yet collected. */
const GROWTH_BYTES_MAX = 32 * 1024 * 1024;
/** How long what may be half a request is waited for before our side is closed. */
const QUIET_MS = 60;

export async function runFuzz(databaseUrl: string, options: FuzzOptions): Promise<FuzzReport> {
  const pipeline = await createPipeline({ databaseUrl }, VARIABLES, config);
  try {
    return await fuzz(await pipeline.start("ingress"), pipeline.database, options);
  } finally {
    await pipeline.stop();
  }
}

async function fuzz(
  ingress: MillraceProcess,
  database: Pool,
  { seed, length, limitMs, signal }: FuzzOptions,
): Promise<FuzzReport> {
  const port = Number(new URL(ingress.url).port);
  const signed = new Set<string>();
  const acknowledged = new Set<string>();
  const answers: Record<string, number> = {};
  const findings: string[] = [];
  let index = 0;

  const playNext = async () => {
    const fuzzCase = makeCase(seed, (index += 1));
    for (const event of fuzzCase.signed) signed.add(keyOf(event));
    const { received, isSilent } = await play(port, fuzzCase, limitMs);
    const { all, rest } = readResponses(received);
    for (const { status } of all) answers[status] = (answers[status] ?? 0) + 1;
    for (const [part, event] of fuzzCase.signed.entries()) {
      const isKept = fuzzCase.answers > 0 && (all[part]?.status ?? 500) < 300;
      if (isKept) acknowledged.add(keyOf(event));
    }
    const wrong = [
      ...(isSilent ? ["silent"] : []),
      ...judge(fuzzCase, all, rest),
      ...leaks(received),
    ];
    for (const one of wrong.slice(0, FINDINGS_MAX - findings.length)) {
      findings.push(describe(one, fuzzCase, received));
    }
  };
  const playUntil = async (done: () => boolean) => {
    const sender = async () => {
      while (!done() && signal?.aborted !== true) await playNext();
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, sender));
  };

  const startedAt = performance.now();
  const hasPlayed = (share: number) =>
    "cases" in length
      ? index >= length.cases * share
      : performance.now() > startedAt + length.ms * share;
  await playUntil(() => hasPlayed(0.2));
  const before = await heldBytes(ingress.url);
  await playUntil(() => hasPlayed(1) || findings.length >= FINDINGS_MAX);

  const holds = async (what: string, condition: () => Promise<boolean>) => {
    await until(condition).catch(() => findings.push(what));
  };
  await holds("it is not healthy", async () => (await fetch(`${ingress.url}/healthz`)).ok);
  await holds("bytes are still in flight", async () => {
    return (await readMetric(ingress.url, "millrace_ingress_bytes_in_flight")) === 0;
  });
  // What can be freed is freed when there is more to take in; what leaks only grows.
  await holds("its memory has grown", async () => {
    const some = index + 200;
    await playUntil(() => index >= some);
    return (await heldBytes(ingress.url)) < before + GROWTH_BYTES_MAX;
  });
  findings.push(...leaks(ingress.output()));

  const kept = await readKept(database);
  const strange = [...kept].filter((key) => !signed.has(key)).map((key) => `never signed: ${key}`);
  const lost = [...acknowledged].filter((key) => !kept.has(key)).map((key) => `lost: ${key}`);
  findings.push(...[...strange, ...lost].slice(0, FINDINGS_MAX));
  return { cases: index, answers, accepted: kept.size, findings };
}

/**
 * Sends a case, and waits until its answers are there, the server ends the connection, or `limitMs`
 * have passed since the last byte.
 */
function play(
  port: number,
  { segments, answers, resets }: FuzzCase,
  limitMs: number,
): Promise<{ received: string; isSilent: boolean }> {
  return new Promise((resolve) => {
    const address = { port, host: "127.0.0.1" };
    const socket = createConnection({ ...address, allowHalfOpen: true, noDelay: true });
    const timers: NodeJS.Timeout[] = [];
    let received = "";
    const finish = (isSilent = false) => {
      for (const timer of timers) clearTimeout(timer);
      socket.removeAllListeners().on("error", () => {});
      // Node cannot reset a socket whose end is on its way: it would keep the handle for good.
      const isEnding = socket.writableEnded && !socket.writableFinished;
      if (resets && !isEnding) socket.resetAndDestroy();
      else socket.destroy();
      resolve({ received, isSilent });
    };
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      const { all } = readResponses(received);
      if (all.length === 0 || all.length < answers) return;
      if (answers > 0) finish();
      else socket.end();
    });
    // What a server does not want to read it may cut; the answer counts, if it came.
    for (const event of ["end", "close", "error"]) socket.on(event, () => finish());

    const sendFrom = (index: number) => {
      const segment = segments[index];
      if (segment !== undefined) {
        socket.write(segment);
        timers.push(setTimeout(() => sendFrom(index + 1), 2));
      } else if (resets) {
        finish();
      } else {
        timers.push(setTimeout(() => finish(true), limitMs));
        if (answers === 0) timers.push(setTimeout(() => socket.end(), QUIET_MS));
      }
    };
    socket.once("connect", () => sendFrom(0));
  });
}

function judge({ answers }: FuzzCase, all: readonly Response[], rest: string): readonly string[] {
  const statuses = all.map(({ status }) => status);
  // A 503 is an answer, and the sender retries; the ledger shows whether it kept its word.
  const isRefused = statuses.some((status) => status >= 300 && status !== 503);
  const checks: readonly [wrong: boolean, text: string][] = [
    [!"HTTP/1.1 ".startsWith(rest.slice(0, 9)), "what came back is no answer"],
    [statuses.some((status) => status >= 500 && status !== 503), "a 5xx but 503"],
    [!all.every(isWellFormed), "an error that is not in our form"],
    [answers > 0 && isRefused, `a right request was answered ${statuses.join()}`],
    [answers > 0 && all.length !== answers, `${answers} answers were due`],
  ];
  return checks.filter(([wrong]) => wrong).map(([, text]) => text);
}

/** Every error has its code; only a HEAD is answered without a body. */
function isWellFormed({ status, body }: Response): boolean {
  if (status < 400) return true;
  if (body === "") return status === 405;
  try {
    return typeof (JSON.parse(body) as { error?: { code?: unknown } }).error?.code === "string";
  } catch {
    return false;
  }
}

const leaks = (text: string) =>
  [BODY_CANARY, SECRET_CANARY]
    .filter((canary) => text.includes(canary))
    .map((canary) => `${canary} in an answer or a log`);

function describe(wrong: string, { name, segments, signed }: FuzzCase, received: string): string {
  const sent = Buffer.concat(segments).toString("latin1");
  return [
    `${wrong} (${name}, ${signed[0]?.eventId})`,
    `  sent ${segments.length} segments: ${JSON.stringify(sent.slice(0, 1_500))}`,
    `  came: ${JSON.stringify(received.slice(0, 600))}`,
  ].join("\n");
}

async function readKept(database: Pool): Promise<ReadonlySet<string>> {
  const { rows } = await database.query<SignedEvent>(
    `select e.source, e.event_id as "eventId", b.body from millrace.events e
       join millrace.bodies b on b.day = e.body_day and b.id = e.body_id`,
  );
  return new Set(rows.map(keyOf));
}

/** GitHub's signature covers the body alone: any id may stand beside it. */
function keyOf({ source, eventId, body }: SignedEvent): string {
  const hash = createHash("sha256").update(body).digest("hex");
  return `${source} ${source === "github" ? "*" : eventId} ${hash}`;
}
