import { setTimeout as sleep } from "node:timers/promises";
import type { TcpProxy } from "../../support/tcp-proxy.ts";
import type { Random } from "../random.ts";
import type { Proxies } from "../environment/servers.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import type { Fault, Way } from "./fault.ts";

export function breakNetwork(
  fault: string,
  server: string,
  proxiesOf: (environment: FaultEnvironment) => Proxies | undefined,
): Fault["ways"] {
  const breakage =
    (
      name: string,
      holdMs: number,
      begin: (proxy: TcpProxy, random: Random) => void,
      end?: (proxy: TcpProxy) => void,
    ): Way =>
    async ({ environment, random }) => {
      const proxies = choose(proxiesOf(environment), random);
      for (const proxy of proxies) begin(proxy, random);
      environment.strike(fault, `${proxies.length} ways to ${server} ${name}`);
      if (end === undefined) return;
      await sleep(random.between(holdMs / 6, holdMs));
      for (const proxy of proxies) end(proxy);
    };
  return {
    "black hole": breakage(
      "lead nowhere",
      6_000,
      (proxy) => proxy.freeze(),
      (proxy) => proxy.thaw(),
    ),
    slow: breakage(
      "are slow",
      5_000,
      (proxy, random) => proxy.delay(random.between(100, 2_000)),
      (proxy) => proxy.delay(0),
    ),
    refused: breakage(
      "are refused",
      4_000,
      (proxy) => proxy.refuse(),
      (proxy) => proxy.admit(),
    ),
    cut: breakage("are cut", 0, (proxy) => proxy.cut()),
  };
}

function choose(proxies: Proxies | undefined, random: Random): readonly TcpProxy[] {
  if (proxies === undefined) return [];
  const both = [proxies.ingress, proxies.worker];
  return random.chance(0.5) ? both : [random.pick(both)];
}
