import { createFetchAdapter, Receiver } from "@millrace/intake";
import { expect, test } from "vitest";
import { createMemoryStore } from "./memory-store.ts";
import { plainConfig, SECRETS } from "./plain-config.ts";

const BUDGET_BYTES = 65_536;

function unfinished(bytes: number): Request {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.alloc(bytes)),
  });
  const init = { method: "POST", body, duplex: "half" } as RequestInit;
  return new Request("https://hooks.example.com/webhooks/large", init);
}

test("the adapters of a receiver share one byte budget", async () => {
  const receiver = new Receiver({
    config: plainConfig({ inFlightBytesMax: BUDGET_BYTES, bodyTimeoutMs: 1_000 }),
    secrets: SECRETS,
    stores: [createMemoryStore()],
  });
  const [first, second] = [createFetchAdapter(receiver), createFetchAdapter(receiver)];
  // A source that is not the only one has half of it, and the older of two small bodies gives way.
  const older = first(unfinished(30_000), "large");
  const younger = second(unfinished(30_000), "large");
  const refused = await older;
  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    { error: { code: "overloaded" } },
  ]);
  expect((await younger).status).toBe(408);
  expect((await second(unfinished(30_000), "large")).status).toBe(408);
  await receiver.close();
});
