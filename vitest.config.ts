import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

// `.ci/run` runs them after `npm test`: the proofs that nothing is lost, doubled or let in.
const PROOFS = [
  "test/attacks/**/*.test.ts",
  "test/integration/executed-files.test.ts",
  "test/ledger/leader.test.ts",
  "test/operations/reconcile-*.test.ts",
];
// `npm run test:nightly` runs them: they take long, try scripts, pages and machines, start servers of
// many kinds, or need programs that a laptop may not have.
const NIGHTLY = [
  "test/attacks/by-a-stranger.test.ts",
  "test/attacks/clean-connections.test.ts",
  "test/attacks/example-secrets.test.ts",
  "test/attacks/held-bodies.test.ts",
  "test/attacks/sign-in.test.ts",
  "test/attacks/unknown-source.test.ts",
  "test/bench/smallest.test.ts",
  "test/browser/event.test.ts",
  "test/browser/hands.test.ts",
  "test/browser/health.test.ts",
  "test/browser/list.test.ts",
  "test/browser/on-call.test.ts",
  "test/browser/runs.test.ts",
  "test/browser/sign-in.test.ts",
  "test/browser/story.test.ts",
  "test/cli/audit.test.ts",
  "test/cli/completion.test.ts",
  "test/cli/doctor.test.ts",
  "test/cli/follow.test.ts",
  "test/cli/init.test.ts",
  "test/cli/retention.test.ts",
  "test/cli/runs.test.ts",
  "test/cli/start-ends.test.ts",
  "test/cli/start-refused.test.ts",
  "test/dashboard/event-view.test.ts",
  "test/dashboard/health.test.ts",
  "test/dashboard/main.test.ts",
  "test/dashboard/openapi.test.ts",
  "test/dashboard/overview.test.ts",
  "test/docs/idempotency/**/*.test.ts",
  "test/docs/pages.test.ts",
  "test/embedded-postgres/**/*.test.ts",
  "test/examples/**/*.test.ts",
  "test/golden/stable-names.test.ts",
  "test/infra/built-image.test.ts",
  "test/infra/compose-servers.test.ts",
  "test/infra/kubernetes.test.ts",
  "test/infra/monitoring.test.ts",
  "test/infra/proxies.test.ts",
  "test/infra/set-ups.test.ts",
  "test/infra/systemd.test.ts",
  "test/intake/open-receiver.test.ts",
  "test/intake/processes.test.ts",
  "test/intake/redelivered-after-restore.test.ts",
  "test/integration/emit.test.ts",
  "test/integration/private-ca.test.ts",
  "test/integration/store.test.ts",
  "test/integration/two-stores-policy.test.ts",
  "test/ledger/bulk-races.test.ts",
  "test/ledger/migrate.test.ts",
  "test/ledger/retention-*.test.ts",
  "test/operations/bulk-run-crashes.test.ts",
  "test/operations/bulk-runs.test.ts",
  "test/operations/give-up.test.ts",
  "test/operations/retention-archive.test.ts",
  "test/operations/retention.test.ts",
  "test/package/**/*.test.ts",
  "test/processor/group-runs.test.ts",
  "test/processor/kept-secrets.test.ts",
  "test/processor/step-crashes.test.ts",
  "test/queue/postgres-outage.test.ts",
  "test/queue/redis-outage.test.ts",
  "test/redis/**/*.test.ts",
  "test/servers/**/*.test.ts",
  "test/testing/emitted-events.test.ts",
  "test/testing/endless-chains.test.ts",
  "test/testing/own-server.test.ts",
  "test/testing/test-environment.test.ts",
  "test/worker/emit.test.ts",
  "test/worker/retention.test.ts",
  "test/worker/worker-role.test.ts",
];
const FAULTS = ["test/faults/**/*.test.ts"];
const EXCLUDED = ["**/node_modules/**", "**/dist/**"];

// Workspace packages run from source, also in a clone that was never built; only processes that a
// test starts run what was built. The global setup has an environment of vitest's own.
const resolve = { conditions: ["source", "node"] };

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

// `npm test` runs unit and integration (scripts/test.mjs).
export default defineConfig({
  test: {
    maxWorkers: 3,
    projects: [
      project("unit", { include: ["{packages,apps,infra}/**/*.test.ts"] }),
      project("integration", {
        include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
        exclude: [...EXCLUDED, ...PROOFS, ...NIGHTLY, ...FAULTS],
        globalSetup: ["test/support/global-setup.ts"],
      }),
      project("proofs", {
        include: PROOFS,
        exclude: [...EXCLUDED, ...NIGHTLY],
        globalSetup: ["test/support/global-setup.ts"],
      }),
      project("nightly", { include: NIGHTLY, globalSetup: ["test/support/global-setup.ts"] }),
      // `.ci/run` strikes some ways of the faults, the night all of them.
      project("faults", {
        include: ["test/faults/each-fault.test.ts"],
        globalSetup: ["test/support/global-setup.ts"],
        testTimeout: 240_000,
      }),
      project("all-faults", {
        include: FAULTS,
        globalSetup: ["test/support/global-setup.ts"],
        testTimeout: 240_000,
        env: { FAULTS: "all" },
      }),
    ],
  },
});
