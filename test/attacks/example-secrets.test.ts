import { expect, test } from "vitest";
import { readExample } from "../infra/compose-file.ts";
import { millrace, STORE_CONFIG } from "../support/run-in-process.ts";

const STORES = ["DATABASE_URL", "REDIS_URL"];

test.each([
  [
    "ingress",
    [
      ...["HOOKMESH_WEBHOOK_SECRET", "STRIPE_WEBHOOK_SECRET", "GITHUB_WEBHOOK_SECRET"],
      ...["STANDARD_WEBHOOK_SECRET", ...STORES],
    ],
  ],
  ["worker", ["DATABASE_URL", "RETENTION_DATABASE_URL", "REDIS_URL"]],
  ["dashboard", ["DASHBOARD_PASSWORD", "DASHBOARD_VIEWER_TOKEN", ...STORES]],
])("a %s with the compose file's examples does not start, and says which", async (role, names) => {
  const env = {
    ...(await readExample(`env/${role}.env`)),
    MILLRACE_CONFIG: STORE_CONFIG,
    HOST: "0.0.0.0",
    NODE_ENV: "production",
  };
  const { code, stdout, stderr } = await millrace([role], { env });
  expect(code).toBe(1);
  expect(stderr).toContain("(example_secret)");
  expect([...stderr.matchAll(/^ {2}(\w+): /gm)].map(([, name]) => name)).toEqual(names);
  expect(stderr).toContain("openssl rand -hex");
  expect(stdout + stderr).not.toMatch(/change-me/i);
});

test("`start` refuses them before it starts anything", async () => {
  const env = {
    STRIPE_WEBHOOK_SECRET: "whsec_change-me-stripe-secret",
    MILLRACE_CONFIG: STORE_CONFIG,
    HOST: "0.0.0.0",
  };
  const { code, stderr } = await millrace(["start"], { env });
  expect([code, stderr]).toEqual([1, expect.stringContaining("(example_secret)")]);
});
