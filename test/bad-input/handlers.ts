import { expect } from "vitest";
import type { LineTests } from "./lines.ts";
import { BODY_CANARY, stripe, stripeBody } from "./senders.ts";
import type { Target } from "./target.ts";

const RETURNS = ["bigint", "cycle", "large", "symbol"];
// Failed queries are in test/processor/kept-secrets.test.ts, other values in packages/processor/src/errors.
const THROWS: readonly (readonly [string, RegExp])[] = [
  ["null", /null was thrown/],
  ["megabyte", /^Error: m+$/],
  ["holder", /declined/],
  ["cause", /wrapped \(cause: Error: inner\)/],
];
const ERROR_BYTES_MAX = 8_192;

export function handlers(tests: LineTests, target: () => Target): void {
  const of = (id: string, type: string) => stripe(stripeBody(id, { type, card: BODY_CANARY }));

  for (const name of RETURNS) {
    tests.proves(59, `a handler that returns a ${name} has completed its event`, async () => {
      const state = await target().take(
        of(`returns_${name}`, `test.returns_${name}`),
        `returns_${name}`,
      );
      expect(state).toMatchObject({ status: "completed", outcome: "handled" });
      expect(await target().effectsOf("stripe", `returns_${name}`)).toBe(1);
    });
  }
  for (const [name, shown] of THROWS) {
    tests.proves(
      60,
      `a handler that throws (${name}) has failed its event, in few words`,
      async () => {
        const { status, last_error: error } = await target().take(
          of(`throws_${name}`, `test.throws_${name}`),
          `throws_${name}`,
        );
        expect([status, error]).toEqual(["failed", expect.stringMatching(shown)]);
        expect(Buffer.byteLength(error ?? "")).toBeLessThanOrEqual(ERROR_BYTES_MAX);
        expect(error).not.toContain(BODY_CANARY);
        expect(await target().effectsOf("stripe", `throws_${name}`)).toBe(0);
      },
    );
  }
  tests.proves(60, "no line of the worker's log is longer than an error may be", async () => {
    const lines = target().worker.output().split("\n");
    expect(lines.some((line) => line.includes("throws_megabyte"))).toBe(true);
    expect(lines.filter((line) => line.length > ERROR_BYTES_MAX)).toEqual([]);
  });
}
