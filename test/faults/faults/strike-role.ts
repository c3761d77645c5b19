import type { Failpoint } from "@millrace/core";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../../support/until.ts";
import type { Role, RoleKind } from "../environment/role.ts";
import type { Random } from "../random.ts";
import type { FaultContext } from "./fault.ts";

const REACH_MS = 30_000;

export function rolesOf({ roles }: FaultContext["environment"], kind: RoleKind): readonly Role[] {
  return roles.filter((role) => role.kind === kind);
}

export async function startAgain(role: Role): Promise<void> {
  await until(() => !role.up);
  await role.start();
}

export async function thawLate(role: Role, random: Random, atLeastMs = 4_500): Promise<void> {
  // Its lock lasts 3 s, and the look for lost jobs comes every second.
  await sleep(random.between(atLeastMs, atLeastMs + 2_500));
  role.signal("SIGCONT");
}

export async function strikeAt(
  role: Role,
  failpoint: Failpoint,
  signal: NodeJS.Signals,
  skip = 0,
): Promise<boolean> {
  const before = role.strikes.get(failpoint) ?? 0;
  role.arm(failpoint, { signal, skip });
  const struck = await reached(() => (role.strikes.get(failpoint) ?? 0) > before);
  role.disarm(failpoint);
  return struck;
}

export function countStrikes(
  { environment }: Pick<FaultContext, "environment">,
  trap: string,
): number {
  return environment.workers.reduce((sum, { strikes }) => sum + (strikes.get(trap) ?? 0), 0);
}

export async function reached(
  condition: () => boolean | Promise<boolean>,
  withinMs = REACH_MS,
): Promise<boolean> {
  try {
    return await until(condition, { withinMs });
  } catch {
    return false;
  }
}
