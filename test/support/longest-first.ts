import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest by the clock, longest first, suite by suite. */
export const LONGEST: readonly string[] = [
  // npm test
  "test/bad-input/bad-input.test.ts",
  "test/contracts/queue.test.ts",
  "test/cli/start.test.ts",
  "test/integration/two-stores.test.ts",
  "test/intake/main.test.ts",
  "test/fuzz/fuzz.test.ts",
  "test/integration/store.test.ts",
  "test/golden/stable-names.test.ts",
  // npm run test:release
  "test/infra/set-ups.test.ts",
  "test/bench/smallest.test.ts",
  "test/servers/postgres-failover.test.ts",
  "test/package/new-column.test.ts",
  "test/operations/bulk-run-crashes.test.ts",
  "test/servers/postgres-restored.test.ts",
  "test/servers/standby.test.ts",
  "test/redis/sentinel.test.ts",
  "test/browser/list.test.ts",
  "test/browser/event.test.ts",
  "test/embedded-postgres/first-start.test.ts",
  "test/integration/crashes.test.ts",
  "test/redis/replicas.test.ts",
  "test/browser/on-call.test.ts",
  "test/examples/apps.test.ts",
  "test/attacks/clean-connections.test.ts",
  "test/testing/endless-chains.test.ts",
  "test/operations/retention-model.test.ts",
  // npm run test:faults
  "test/faults/each-fault.test.ts",
  "test/faults/each-fault-set-ups.test.ts",
  "test/faults/short-run.test.ts",
  "test/faults/alone.test.ts",
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
