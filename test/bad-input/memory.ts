import { expect, test } from "vitest";
import { heldBytes } from "../support/metrics.ts";
import { until } from "../support/until.ts";
import { github, plain, standard, stripe } from "./senders.ts";
import type { Target } from "./target.ts";
import { toBytes, withHeader, type WireRequest } from "./wire.ts";

const REQUESTS = 3_000;
const WARM_UP = 600;
const CONCURRENCY = 20;
/** Less than a tenth of the bytes that were sent meanwhile. */
const GROWTH_BYTES_MAX = 16 * 1024 * 1024;

/** Requests that are all refused, each at another place, and together 60 kB a piece on average. */
function refused(): readonly WireRequest[] {
  const large = "x".repeat(60_000);
  return [
    withHeader(github("m_1", large), "x-hub-signature-256", `sha256=${"0".repeat(64)}`),
    withHeader(github("m_2", large), "content-encoding", "gzip"),
    standard("m_3", `"${large}${large}"`),
    stripe(`{"id":"m_4","x":"${large}`),
    stripe(`{"id":["m_5"],"x":"${large}"}`),
    plain("a", `{"id":"${"m".repeat(2_000)}","x":"${large}"}`),
    { ...plain("a", large), path: "/webhooks/nobody" },
    { ...plain("a", large), method: "PUT" },
  ];
}

/** P6: what strangers send leaves nothing behind in the memory of the ingress. */
export function memory(target: () => Target): void {
  test("thousands of refused requests leave no byte in flight, and the heap as it was", async () => {
    const requests = refused().map(toBytes);
    let sent = 0;
    const sendUntil = async (total: number) => {
      const sender = async () => {
        while (sent < total) {
          const { status } = await target().ask(
            requests[(sent += 1) % requests.length] ?? Buffer.of(),
          );
          expect(status).toBeGreaterThanOrEqual(400);
          expect(status).toBeLessThan(500);
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, sender));
    };
    const held = () => heldBytes(target().ingress.url);

    await sendUntil(WARM_UP);
    const before = await held();
    await sendUntil(WARM_UP + REQUESTS);
    await until(async () => (await target().metric("millrace_ingress_bytes_in_flight")) === 0);
    // What can be freed is freed when there is more to take in; what leaks only grows.
    await until(
      async () => {
        await sendUntil(sent + WARM_UP);
        return (await held()) < before + GROWTH_BYTES_MAX;
      },
      { what: "memory freed" },
    );
  });
}
