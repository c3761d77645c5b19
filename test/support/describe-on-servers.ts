import { describe, inject } from "vitest";

/** `describe` where there is a PgBouncer; the run says loudly when there is none. */
export function describeBehindPgbouncer(title: string, suite: () => void): void {
  describe.skipIf(!inject("hasPgbouncer"))(`${title} (needs pgbouncer)`, suite);
}

/** `describe` where there are the programs of a Postgres server; the run says loudly when there are none. */
export function describeOnStandby(title: string, suite: () => void): void {
  describe.skipIf(!inject("hasPostgresPrograms"))(`${title} (needs postgresql)`, suite);
}
