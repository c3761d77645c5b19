import { Agent } from "node:http";
import { expect } from "vitest";
import { sendTo } from "../intake/send-to.ts";
import type { LineTests } from "./lines.ts";
import { plain } from "./senders.ts";
import type { Target } from "./target.ts";

const PER_SECOND = 500;
const TICK_MS = 20;
const GOOD = 100;
const ROUNDS_MAX = 6;
const SLACK_MS = 20;

export function flood(tests: LineTests, target: () => Target): void {
  let count = 0;

  async function p99(): Promise<number> {
    const took: number[] = [];
    while (took.length < GOOD) {
      const id = `beside_${(count += 1)}`;
      const startedMs = performance.now();
      await target().deliver(plain("a", JSON.stringify({ id, type: "test.effect" })), id);
      took.push(performance.now() - startedMs);
    }
    return took.toSorted((a, b) => a - b)[GOOD - 2] ?? 0;
  }

  tests.proves(55, "500 bad signatures a second: all 401, and the others hardly wait", async () => {
    const rounds: { quiet: number; flooded: number }[] = [];
    const fits = () => rounds.some(({ quiet, flooded }) => flooded <= 2 * quiet + SLACK_MS);
    // A neighbour on the machine can spoil a round; a costly refusal spoils every one.
    while (!fits() && rounds.length < ROUNDS_MAX) {
      const quiet = await p99();
      const running = startFlood(Number(new URL(target().ingress.url).port));
      const flooded = await p99();
      const statuses = await running.stop();
      expect(new Set(statuses)).toEqual(new Set([401]));
      expect(statuses.length).toBeGreaterThan(10);
      rounds.push({ quiet, flooded });
    }
    expect(rounds.filter(({ quiet, flooded }) => flooded <= 2 * quiet + SLACK_MS)).not.toEqual([]);
  });
}

function startFlood(port: number): { stop(): Promise<readonly number[]> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 50 });
  const answers: Promise<number>[] = [];
  const timer = setInterval(() => {
    for (let sent = 0; sent < (PER_SECOND * TICK_MS) / 1_000; sent += 1) {
      answers.push(forged(port, agent));
    }
  }, TICK_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      const statuses = await Promise.all(answers);
      agent.destroy();
      return statuses;
    },
  };
}

async function forged(port: number, agent: Agent): Promise<number> {
  const headers = { "x-signature": "0".repeat(64) };
  const body = JSON.stringify({ id: "forged_1", type: "test.effect", x: "x".repeat(1_000) });
  return (await sendTo(port, { source: "a", headers, body, agent })).status;
}
