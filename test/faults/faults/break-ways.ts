import { setTimeout as sleep } from "node:timers/promises";
import type { TcpProxy } from "../../support/tcp-proxy.ts";
import type { Random } from "../random.ts";
import type { Ways } from "../stage/ground.ts";
import type { Stage } from "../stage/stage.ts";
import type { Fault, Way } from "./fault.ts";

/** What a network does to the ways to a server: both of them, or that of one kind of roles. */
export function breakWays(
  fault: string,
  server: string,
  waysOf: (stage: Stage) => Ways | undefined,
): Fault["ways"] {
  const trouble =
    (
      name: string,
      holdMs: number,
      begin: (way: TcpProxy, random: Random) => void,
      end?: (way: TcpProxy) => void,
    ): Way =>
    async ({ stage, random }) => {
      const ways = choose(waysOf(stage), random);
      for (const way of ways) begin(way, random);
      stage.strike(fault, `${ways.length} ways to ${server} ${name}`);
      if (end === undefined) return;
      await sleep(random.between(holdMs / 6, holdMs));
      for (const way of ways) end(way);
    };
  return {
    "black hole": trouble(
      "lead nowhere",
      6_000,
      (way) => way.freeze(),
      (way) => way.thaw(),
    ),
    slow: trouble(
      "are slow",
      5_000,
      (way, random) => way.delay(random.between(100, 2_000)),
      (way) => way.delay(0),
    ),
    refused: trouble(
      "are refused",
      4_000,
      (way) => way.refuse(),
      (way) => way.admit(),
    ),
    cut: trouble("are cut", 0, (way) => way.cut()),
  };
}

function choose(ways: Ways | undefined, random: Random): readonly TcpProxy[] {
  if (ways === undefined) return [];
  const both = [ways.ingress, ways.worker];
  return random.chance(0.5) ? both : [random.pick(both)];
}
