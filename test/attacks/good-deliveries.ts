import { createHmac, randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { sendTo } from "../intake/send-to.ts";
import { SECRETS } from "../support/pipeline.ts";

export type Delivered = Awaited<ReturnType<typeof deliverGood>>;

const CONNECTIONS = 4;

/**
 * Small, rightly signed deliveries of Stripe and GitHub, in turn; at least `count`, and on until `isEnough`. Without
 * `keepAlive` each has a connection of its own.
 */
export async function deliverGood(
  port: number,
  count: number,
  isEnough = () => true,
  { keepAlive = true } = {},
) {
  // An agent with a limit keeps connections in any case.
  const agent = new Agent(keepAlive ? { keepAlive, maxSockets: CONNECTIONS } : { keepAlive });
  const statuses: Record<number, number> = {};
  const took: number[] = [];
  let begun = 0;
  const sender = async () => {
    while (begun < count || !isEnough()) {
      begun += 1;
      const delivery = begun % 2 === 0 ? fromStripe() : fromGithub();
      const startedMs = performance.now();
      const { status } = await sendTo(port, { ...delivery, agent });
      took.push(performance.now() - startedMs);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sender));
  agent.destroy();
  const sorted = took.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
  return { statuses, p50Ms: at(0.5), p99Ms: at(0.99) };
}

export function compare(what: string, quiet: Delivered, attacked: Delivered): string {
  const times = ({ p50Ms, p99Ms }: Delivered) =>
    `p50 ${p50Ms.toFixed(1)} p99 ${p99Ms.toFixed(1)} ms`;
  return `${what}: quiet ${times(quiet)}, attacked ${times(attacked)}\n`;
}

const FILLER = "x".repeat(1_200);

function fromStripe() {
  const id = `evt_${randomUUID()}`;
  const body = JSON.stringify({ id, type: "test.ignored", data: FILLER });
  const seconds = Math.floor(Date.now() / 1_000);
  const signature = hmac(SECRETS.stripe, `${seconds}.${body}`);
  return {
    source: "stripe",
    body,
    headers: { "stripe-signature": `t=${seconds},v1=${signature}` },
  };
}

function fromGithub() {
  const id = randomUUID();
  const body = JSON.stringify({ id, data: FILLER });
  return {
    source: "github",
    body,
    headers: {
      "x-github-delivery": id,
      "x-github-event": "test.ignored",
      "x-hub-signature-256": `sha256=${hmac(SECRETS.github, body)}`,
    },
  };
}

function hmac(secret: string, text: string): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}
