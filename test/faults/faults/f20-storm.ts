import { plainEvent } from "../load/plan.ts";
import type { Fault, Way } from "./fault.ts";

/** F20: one event comes over and over, at all ingresses at once. */
export const storm: Fault = {
  id: "F20",
  title: "a storm of duplicates of one event",
  uses: [],
  ways: { "500": stormOf(500), "2000": stormOf(2_000) },
};

function stormOf(copies: number): Way {
  return async ({ stage, random, burst }) => {
    const id = `msg_storm_${random.between(0, 2 ** 31)}`;
    const answered = await burst(plainEvent(id, { plan: { sleepMs: 200 }, copies }));
    if (answered > 0) stage.strike("F20", `${copies} deliveries of one event, ${answered} taken`);
  };
}
