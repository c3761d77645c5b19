import { until } from "../support/until.ts";

export interface Delivered {
  readonly id: string;
  readonly answer: number | string;
  readonly tookMs: number;
}

interface Options {
  readonly prefix?: string;
  readonly pauseMs?: number;
}

export function startSenders(
  deliver: (id: string) => Promise<{ readonly status: number }>,
  { prefix = "msg_load", pauseMs = 0 }: Options = {},
) {
  const all: Delivered[] = [];
  let stopped = false;
  const send = async (sender: number) => {
    for (let n = 0; !stopped; n += 1) {
      const id = `${prefix}_${sender}_${n}`;
      const began = performance.now();
      const answer = await deliver(id).then(({ status }) => status, codeOf);
      all.push({ id, answer, tookMs: performance.now() - began });
      // A refused connection costs no time: without a pause this would spin.
      const restMs = typeof answer === "string" ? Math.max(pauseMs, 20) : pauseMs;
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
    }
  };
  const senders = Array.from({ length: 8 }, (_, sender) => send(sender));
  const acknowledged = () =>
    all.filter(({ answer }) => typeof answer === "number" && answer < 300).map(({ id }) => id);
  return {
    all,
    acknowledged,
    slowestMs: () => all.reduce((slowest, { tookMs }) => Math.max(slowest, tookMs), 0),
    more: async (count: number) => {
      const goal = all.length + count;
      await until(() => all.length >= goal);
    },
    moreAcknowledged: async (count: number) => {
      const goal = acknowledged().length + count;
      await until(() => acknowledged().length > goal);
    },
    stop: async () => {
      stopped = true;
      await Promise.all(senders);
    },
  };
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: string } | undefined) : undefined;
  return cause?.code ?? (error as { code?: string }).code ?? String(error);
}
