import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest by the clock, longest first. */
const LONGEST: readonly string[] = [
  "test/bad-input/bad-input.test.ts",
  "test/integration/crashes.test.ts",
  "test/contracts/queue.test.ts",
  "test/cli/start.test.ts",
  "test/integration/two-stores.test.ts",
  "test/integration/reconciler.test.ts",
  "test/browser/list.test.ts",
  "test/browser/event.test.ts",
  "test/intake/main.test.ts",
  "test/operations/reconcile-faults.test.ts",
  "test/integration/two-stores-policy.test.ts",
  "test/ledger/model.test.ts",
  "test/queue/redis-outage.test.ts",
  "test/fuzz/fuzz.test.ts",
  "test/integration/store.test.ts",
  "test/golden/stable-names.test.ts",
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
