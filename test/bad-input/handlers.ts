import { expect } from "vitest";
import type { LineTests } from "./lines.ts";
import { BODY_CANARY, stripe, stripeBody } from "./senders.ts";
import type { Target } from "./target.ts";

// Failed queries are in test/processor/kept-secrets.test.ts, other values and what a handler returns in
// test/processor/processor.test.ts.
const THROWS: readonly (readonly [string, RegExp])[] = [
  ["megabyte", /^Error: m+$/],
  ["holder", /declined/],
  ["cause", /wrapped \(cause: Error: inner\)/],
];
const ERROR_BYTES_MAX = 8_192;

export function handlers(tests: LineTests, target: () => Target): void {
  const of = (id: string, type: string) => stripe(stripeBody(id, { type, card: BODY_CANARY }));

  for (const [name, shown] of THROWS) {
    tests.proves(57, `a handler that throws (${name}) has failed its event`, async () => {
      const { status, last_error: error } = await target().take(
        of(`throws_${name}`, `test.throws_${name}`),
        `throws_${name}`,
      );
      expect([status, error]).toEqual(["failed", expect.stringMatching(shown)]);
      expect(Buffer.byteLength(error ?? "")).toBeLessThanOrEqual(ERROR_BYTES_MAX);
      expect(error).not.toContain(BODY_CANARY);
      expect(await target().effectsOf("stripe", `throws_${name}`)).toBe(0);
    });
  }
  tests.proves(57, "no line of the worker's log is longer than an error may be", async () => {
    const lines = target().worker.output().split("\n");
    expect(lines.some((line) => line.includes("throws_megabyte"))).toBe(true);
    expect(lines.filter((line) => line.length > ERROR_BYTES_MAX)).toEqual([]);
  });
}
