import type { Config } from "@millrace/core";
import { expect, test } from "vitest";
import { openIngress } from "./ingress-stores.ts";

test("while the queue is not open, each delivery sees the same circuit breaker", async () => {
  const config = { sources: {}, queue: {}, ingress: {} } as unknown as Config;
  const stores = openIngress({ REDIS_URL: "redis://127.0.0.1:1" }, config, {});
  const [queue] = stores.eventStores;
  const first = queue?.breakerOf?.("stripe");
  expect(first).toMatchObject({ isOpen: true });
  expect(queue?.breakerOf?.("stripe")).toBe(first);
  await stores.close();
});
