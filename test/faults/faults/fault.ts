import type { ClientLog } from "../load/client-log.ts";
import type { Random } from "../random.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import type { SetUp } from "../environment/servers.ts";
import type { PlannedEvent } from "../load/plan.ts";

export type Resource = "redis" | "postgres" | "ingress" | "worker" | "senders";

export interface FaultContext {
  readonly environment: FaultEnvironment;
  readonly random: Random;
  readonly log: ClientLog;
  send(event: PlannedEvent): void;
  burst(...events: readonly PlannedEvent[]): Promise<number>;
}

export type Way = (context: FaultContext) => Promise<void>;

export interface Fault {
  readonly id: string;
  readonly title: string;
  readonly uses: readonly Resource[];
  applies?(environment: Pick<FaultEnvironment, "backend" | "ack" | "groups">): boolean;
  readonly setUp?: Exclude<SetUp, "direct">;
  readonly byName?: true;
  readonly sparesOthers?: true;
  readonly ways: Readonly<Record<string, Way>>;
  readonly longWays?: Readonly<Record<string, Way>>;
}

export function canStrike(
  { setUp, uses, applies }: Fault,
  environment: Pick<FaultEnvironment, "backend" | "ack" | "groups" | "setUp">,
): boolean {
  const usesServer = uses.includes("redis") || uses.includes("postgres");
  const isFree = setUp === undefined && !usesServer;
  const fits = isFree || (setUp ?? "direct") === environment.setUp;
  return fits && applies?.(environment) !== false;
}
