import { expect, test } from "vitest";
import { openForAll } from "../support/open-for.ts";
import { FAULTS } from "./faults/catalogue.ts";
import { canStrike } from "./faults/fault.ts";
import { plainEvent } from "./load/plan.ts";
import { startFaultTest } from "./start-fault-test.ts";
import type { EnvironmentOptions } from "./environment/environment.ts";

/** The night strikes each fault in each of its ways, `.ci/run` some of them in one or two. */
export const ALL = process.env["FAULTS"] === "all";
export const QUICK = [
  ...["F1/ingress.before_answer", "F2/sigterm", "F3/worker.commit_sent", "F10/obliterate"],
  ...[
    "F11/full",
    "F14/terminate",
    "F15/after",
    "F17/serialisation",
    "F17/idle in transaction",
    "F20/500",
    "F21/fails",
  ],
  ...["F24/another's hash", "F27/killed at worker.group_ran"],
  ...["F31/synchronous", "F32/behind", "F33/killed", "F34/behind", "F35/seen", "F35/unseen"],
];
const isWanted = (way: string) => ALL || QUICK.includes(way);

/** Strikes the faults that are named, each of them one after the other; without names, all that need not be named. */
export function strikeEach(
  where: Pick<EnvironmentOptions, "backend" | "ack" | "setUp">,
  named?: readonly string[],
): void {
  const faultTest = openForAll(() => startFaultTest(where));
  const { setUp = "direct" } = where;
  for (const fault of FAULTS) {
    const { id, title, ways, byName = false } = fault;
    if (named === undefined ? byName : !named.includes(id)) continue;
    if (!canStrike(fault, { ...where, setUp, groups: true })) continue;
    for (const [way, strike] of Object.entries(ways)) {
      if (!isWanted(`${id}/${way}`)) continue;
      test(`${id} ${title}: ${way}`, { timeout: 180_000 }, async () => {
        const before = faultTest.environment.struck.get(id) ?? 0;
        await strike(faultTest);
        expect(faultTest.environment.struck.get(id) ?? 0).toBeGreaterThan(before);
        await faultTest.environment.heal();
        const probe = `msg_probe_${id}_${faultTest.random.between(0, 2 ** 31)}`;
        faultTest.send(plainEvent(probe, { copies: 3 }));
        await faultTest.settled(probe, "completed");
      });
    }
  }

  test("after all of them every invariant holds", { timeout: 300_000 }, async () => {
    await faultTest.expectInvariants();
  });
}
