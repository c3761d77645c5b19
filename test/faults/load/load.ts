import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  countLive,
  type Evidence,
  gatherEvidence,
  type Stretches,
  watchLags,
} from "../check/evidence.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import type { Random } from "../random.ts";
import { createClientLog } from "./client-log.ts";
import { type Senders, startSenders } from "./senders.ts";

interface SettleOptions {
  readonly withinMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly stretches?: Stretches | undefined;
  readonly keepUp?: boolean;
}

export function startLoad(
  environment: FaultEnvironment,
  options: { readonly random: Random; readonly rate: number },
) {
  const log = createClientLog(join(environment.folder, "client.jsonl"));
  const lags = watchLags();
  const ingresses = () => environment.ingresses;
  const senders = startSenders({ ...options, log, ingresses });
  return {
    log,
    senders,
    settle: async ({
      withinMs,
      signal,
      stretches,
      keepUp = false,
    }: SettleOptions): Promise<Evidence> => {
      senders.finish();
      const up = keepUp ? environment.keepUp() : undefined;
      try {
        const notDrained = await drain(environment, senders, withinMs, signal);
        return await gatherEvidence({ environment, log, notDrained, lags, stretches });
      } finally {
        await up?.stop();
      }
    },
    close: async () => {
      lags.close();
      await senders.close();
      await log.close();
    },
  };
}

export async function drain(
  environment: FaultEnvironment,
  senders: Pick<Senders, "outstanding">,
  withinMs: number,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    signal?.throwIfAborted();
    const deliveries = senders.outstanding;
    const pending = await environment.count("millrace.events where status = 'pending'");
    const jobs = await countLive(environment);
    if (deliveries + pending + jobs === 0) return undefined;
    if (performance.now() > deadlineMs) {
      return `not settled in ${withinMs / 1_000} s: ${deliveries} deliveries, ${pending} pending, ${jobs} live jobs`;
    }
    await sleep(200);
  }
}
