import { defineConfig } from "vitest/config";

export default defineConfig({
  // Workspace packages run from source; only processes that a test starts run what was built.
  resolve: { conditions: ["source", "module", "node"] },
  ssr: { resolve: { conditions: ["source", "module", "node"] } },
  test: {
    include: ["{packages,apps,infra,examples}/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    globalSetup: ["test/support/global-setup.ts"],
    setupFiles: ["test/support/leaks.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 180_000,
  },
});
