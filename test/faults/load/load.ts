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
import { createClientLog, type ClientLog, isAcknowledged } from "./client-log.ts";
import { drawEvent, type PlannedEvent } from "./plan.ts";
import { bodyOf, createPoster, type Posted, sign } from "./post.ts";

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

interface SendersOptions {
  readonly log: ClientLog;
  readonly random: Random;
  readonly rate: number;
  ingresses(): readonly { readonly name: string; readonly url: string }[];
}

type Senders = ReturnType<typeof startSenders>;

interface Delivery {
  readonly event: PlannedEvent;
  dueMs: number;
  tries: number;
}

const CONCURRENCY = 24;
const SPREAD_MS = 4_000;
const RETRY_MAX_MS = 2_000;
const NEIGHBOURS = 50;

function startSenders({ log, random, rate, ingresses }: SendersOptions) {
  // Which events there are depends on the seed alone, and not on how fast they are answered.
  const draws = random.fork();
  const run = draws.between(0, 2 ** 31).toString(36);
  const bag: Delivery[] = [];
  const poster = createPoster();
  let drawn = 0;
  let underWay = 0;
  let drawing = true;
  let closed = false;
  let nextMs = performance.now();

  const add = (event: PlannedEvent) => {
    for (let copy = 0; copy < event.copies; copy += 1) {
      const dueMs = performance.now() + (copy === 0 ? 0 : random.between(0, SPREAD_MS));
      bag.push({ event, dueMs, tries: 0 });
    }
  };

  function take(): Delivery | undefined {
    const now = performance.now();
    const due = bag.findIndex(({ dueMs }) => dueMs <= now);
    if (due >= 0) return bag.splice(due, 1)[0];
    if (!drawing) return undefined;
    drawn += 1;
    add(drawEvent(draws, `msg_${run}_${drawn}`));
    return bag.pop();
  }

  async function deliver(delivery: Delivery): Promise<void> {
    const { event } = delivery;
    const answer = await attempt(event);
    if (isAcknowledged(answer) || isFinal(answer) || !event.retries) return;
    delivery.tries += 1;
    const waitMs = Math.min(RETRY_MAX_MS, 50 * 2 ** delivery.tries);
    delivery.dueMs = performance.now() + waitMs / 2 + random.between(0, waitMs / 2);
    bag.push(delivery);
  }

  async function attempt(event: PlannedEvent): Promise<Posted["answer"]> {
    const up = ingresses();
    const { name, url } = up[Math.floor(Math.random() * up.length)] ?? { name: "none", url: "" };
    const startedMs = performance.now();
    const posted = await postTo(url, event);
    log.add({ event, ingress: name, startedMs, ...posted });
    return posted.answer;
  }

  async function burst(...events: readonly PlannedEvent[]): Promise<number> {
    const left = mixCopies(events, random);
    let begun = 0;
    let answered = 0;
    const sendNext = async () => {
      while (begun < left.length && !closed) {
        const event = left[begun];
        begun += 1;
        if (event !== undefined && isAcknowledged(await attempt(event))) answered += 1;
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, sendNext));
    return answered;
  }

  async function postTo(url: string, event: PlannedEvent): Promise<Posted> {
    if (url === "") return { answer: "DOWN", retryAfter: undefined, tookMs: 0 };
    const variant = random.chance(0.01) ? 1 : 0;
    const delivery = sign(event, bodyOf(event, event.source === "hub" ? 0 : variant));
    return await poster.post(`${url}/webhooks/${event.source}`, delivery);
  }

  async function sendDue(): Promise<void> {
    while (!closed) {
      await sleep(Math.max(1, nextMs - performance.now()));
      if (nextMs > performance.now()) continue;
      const delivery = take();
      if (delivery === undefined) {
        await sleep(10);
        continue;
      }
      nextMs = Math.max(nextMs, performance.now() - 100) + 1_000 / rate;
      underWay += 1;
      await deliver(delivery);
      underWay -= 1;
    }
  }

  const senders = Array.from({ length: CONCURRENCY }, sendDue);
  return {
    get outstanding(): number {
      return bag.length + underWay;
    },
    send: add,
    burst,
    finish: () => void (drawing = false),
    close: async () => {
      closed = true;
      await Promise.all(senders);
      poster.close();
    },
  };
}

function mixCopies(events: readonly PlannedEvent[], random: Random): readonly PlannedEvent[] {
  const mixed: PlannedEvent[] = [];
  for (let first = 0; first < events.length; first += NEIGHBOURS) {
    const neighbours = events.slice(first, first + NEIGHBOURS);
    const copies = neighbours.flatMap((event) => Array.from({ length: event.copies }, () => event));
    mixed.push(...random.shuffled(copies));
  }
  return mixed;
}

function isFinal(answer: number | string): boolean {
  return typeof answer === "number" && answer >= 400 && answer < 500;
}
