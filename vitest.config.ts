import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";

// What takes long, starts servers of many kinds, or wants what a laptop may not have.
const RELEASE = [
  "test/attacks/**/*.test.ts",
  "test/bench/smallest.test.ts",
  "test/browser/event.test.ts",
  "test/browser/health.test.ts",
  "test/browser/list.test.ts",
  "test/browser/on-call.test.ts",
  "test/browser/runs.test.ts",
  "test/cli/runs.test.ts",
  "test/dashboard/health.test.ts",
  "test/embedded-postgres/first-start.test.ts",
  "test/embedded-postgres/later-start.test.ts",
  "test/examples/apps.test.ts",
  "test/infra/built-image.test.ts",
  "test/infra/set-ups.test.ts",
  "test/intake/redelivered-after-restore.test.ts",
  "test/integration/crashes.test.ts",
  "test/integration/reconciler.test.ts",
  "test/integration/two-stores-policy.test.ts",
  "test/integration/waits.test.ts",
  "test/ledger/bulk-races.test.ts",
  "test/ledger/leader.test.ts",
  "test/ledger/model.test.ts",
  "test/operations/bulk-pace.test.ts",
  "test/operations/bulk-run-crashes.test.ts",
  "test/operations/bulk-runs.test.ts",
  "test/operations/give-up.test.ts",
  "test/operations/reconcile-faults.test.ts",
  "test/operations/reconcile-postgres-lost.test.ts",
  "test/operations/reconcile-queue-lost.test.ts",
  "test/operations/retention-archive.test.ts",
  "test/operations/retention-model.test.ts",
  "test/package/**/*.test.ts",
  "test/queue/redis-outage.test.ts",
  "test/redis/**/*.test.ts",
  "test/servers/**/*.test.ts",
  "test/testing/endless-chains.test.ts",
];
const FAULTS = ["test/faults/**/*.test.ts"];
const EXCLUDED = ["**/node_modules/**", "**/dist/**"];

// Workspace packages run from source, also in a clone that was never built; only processes that a
// test starts run what was built. The global setup has an environment of vitest's own.
const resolve = { conditions: ["source", "module", "node"] };

function project(
  name: string,
  test: NonNullable<TestProjectInlineConfiguration["test"]>,
): TestProjectInlineConfiguration {
  return {
    resolve,
    ssr: { resolve },
    environments: { __vitest__: { resolve } },
    test: {
      name,
      // Files share a process: a third of their time was start and import.
      isolate: false,
      exclude: EXCLUDED,
      setupFiles: ["test/support/leaks.ts"],
      pool: "forks",
      testTimeout: 120_000,
      hookTimeout: 180_000,
      ...test,
    },
  };
}

// `npm test` runs unit and integration; release and faults have scripts of their own.
export default defineConfig({
  test: {
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      project("unit", { include: ["{packages,apps,infra}/**/*.test.ts"] }),
      project("integration", {
        include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
        exclude: [...EXCLUDED, ...RELEASE, ...FAULTS],
        globalSetup: ["test/support/global-setup.ts"],
      }),
      project("release", { include: RELEASE, globalSetup: ["test/support/global-setup.ts"] }),
      project("faults", { include: FAULTS, globalSetup: ["test/support/global-setup.ts"] }),
    ],
  },
});
