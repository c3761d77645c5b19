import { fileURLToPath } from "node:url";
import { OLD_GITHUB_SECRET, SECRETS } from "./senders.ts";

const CONFIG = fileURLToPath(new URL("./fixture/millrace.config.ts", import.meta.url));

export const DASHBOARD = { user: "ops", password: "Canary5ecret-dashboard" };

/** What the roles of the fixture are started with. */
export function fixtureEnvironment(): Readonly<Record<string, string>> {
  return {
    MILLRACE_CONFIG: CONFIG,
    LOG_LEVEL: "trace",
    DASHBOARD_USER: DASHBOARD.user,
    DASHBOARD_PASSWORD: DASHBOARD.password,
    GITHUB_WEBHOOK_SECRET: `${SECRETS.github},${OLD_GITHUB_SECRET}`,
    STRIPE_WEBHOOK_SECRET: SECRETS.stripe,
    STANDARD_WEBHOOK_SECRET: SECRETS.standard,
    HOOKMESH_WEBHOOK_SECRET: SECRETS.hookmesh,
    A_WEBHOOK_SECRET: SECRETS.a,
    A_B_WEBHOOK_SECRET: SECRETS["a-b"],
  };
}
