import { defineConfig, hookMesh, internal, on, RetryLater } from "millrace";
import { createTestEnvironment } from "millrace/testing";
import { expect, test } from "vitest";
import { openForAll } from "../support/open-for.ts";

const config = defineConfig({
  sources: { shop: hookMesh(), chain: internal(), poll: internal() },
  handlers: [
    on("shop", "loop", async (_event, { emit }) => {
      for (let n = 0; n < 501; n += 1) await emit("chain", "link", { n });
    }),
    on("chain", "link", ({ payload }, { emit }) => emit("chain", "last", payload)),
    on("shop", "forever", (_event, { emit }) => emit("poll", "poll", {})),
    on("poll", "poll", () => {
      throw new RetryLater({ afterMs: 1_000 });
    }),
  ],
});

const environment = openForAll(() => createTestEnvironment(config));

test("settle ends after 1,000 attempts of what was emitted", async () => {
  await expect(environment.deliver("shop", "loop", {}, { settle: true })).rejects.toMatchObject({
    code: "endless_chain",
    message: expect.stringMatching(
      /^Cannot settle what was emitted: after 1000 attempts event ".+" of "chain" is due/,
    ),
  });
});

test("advance ends after 1,000 attempts, when a handler waits without end", async () => {
  await environment.advance(0);
  await environment.deliver("shop", "forever", {}, { settle: true });
  await expect(environment.advance(86_400_000)).rejects.toMatchObject({
    code: "endless_chain",
    message: expect.stringMatching(
      /^Cannot advance by 86400000 ms: after 1000 attempts event ".+" of "poll" is due/,
    ),
  });
});
