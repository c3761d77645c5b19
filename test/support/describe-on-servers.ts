import { describe, inject } from "vitest";
import { hasGcc } from "./slow-disk.ts";

export function describeBehindPgbouncer(title: string, suite: () => void): void {
  describe.skipIf(!inject("hasPgbouncer"))(`${title} (needs pgbouncer)`, suite);
}

export function describeOnStandby(title: string, suite: () => void): void {
  describe.skipIf(!inject("hasPostgresPrograms"))(`${title} (needs postgresql)`, suite);
}

export function describeOnSlowDisk(title: string, suite: () => void): void {
  const can = inject("hasRedis") && (hasGcc() || process.env["CI"] === "true");
  describe.skipIf(!can)(`${title} (needs gcc)`, suite);
}
