import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const LONGEST: readonly string[] = [
  // npm test
  "test/contracts/queue-on-redis.test.ts",
  "test/contracts/queue-on-postgres.test.ts",
  "test/contracts/event-stores.test.ts",
  "test/bad-input/bad-input.test.ts",
  "test/cli/start.test.ts",
  "test/integration/two-stores.test.ts",
  "test/operations/reconcile.test.ts",
  "test/intake/main.test.ts",
  // npm run test:proofs
  "test/integration/crashes.test.ts",
  "test/operations/reconcile-faults.test.ts",
  "test/integration/executed-files.test.ts",
  "test/integration/reconciler.test.ts",
  // npm run test:nightly
  "test/infra/set-ups.test.ts",
  "test/bench/smallest.test.ts",
  "test/servers/postgres-failover.test.ts",
  "test/package/new-column.test.ts",
  "test/operations/bulk-run-crashes.test.ts",
];

/**
 * Begins with the files that take longest, so that none of them runs at the end with nothing beside it.
 * vitest knows how long a file took the last time, but not in a clone where nothing ran yet.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- a sequencer's method, not an array's
    const sorted = await super.sort(files);
    const first = LONGEST.flatMap((path) => sorted.filter((file) => this.pathOf(file) === path));
    return [...new Set([...first, ...sorted])];
  }

  private pathOf(file: TestSpecification): string {
    return relative(this.ctx.config.root, file.moduleId);
  }
}
