import { expect, test } from "vitest";
import { ofOtherRoles } from "./role-launches.ts";

test("a role gets no secret of another one, and workers get the address for links in alerts", () => {
  const env = {
    ...{ DASHBOARD_URL: "https://ops.test", DASHBOARD_PASSWORD: "p", ACME_WEBHOOK_SECRET: "s" },
    ...{ ACME_WEBHOOK_SECRET_FILE: "f", RETENTION_DATABASE_URL: "r", DATABASE_URL: "d" },
  };
  const hidden = (role: Parameters<typeof ofOtherRoles>[1]) =>
    Object.entries(ofOtherRoles(env, role, ["acme"]));
  const names = {
    ingress: ["DASHBOARD_PASSWORD", "RETENTION_DATABASE_URL"],
    worker: ["DASHBOARD_PASSWORD", "ACME_WEBHOOK_SECRET", "ACME_WEBHOOK_SECRET_FILE"],
    dashboard: ["ACME_WEBHOOK_SECRET", "ACME_WEBHOOK_SECRET_FILE", "RETENTION_DATABASE_URL"],
  } as const;
  for (const role of ["ingress", "worker", "dashboard"] as const) {
    expect(hidden(role)).toEqual(names[role].map((name) => [name, ""]));
  }
});
