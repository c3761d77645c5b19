import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { readSettings } from "../settings.ts";

type RoleMain = (env: Readonly<Record<string, string | undefined>>) => Promise<unknown>;

// Each process loads its own role alone.
const ROLES: readonly {
  name: string;
  description: string;
  help: string;
  load(): Promise<RoleMain>;
}[] = [
  {
    name: "ingress",
    description: "take webhooks in: verify, identify, enqueue, acknowledge",
    help: `
Listens on INGRESS_PORT (3000). Every source needs its secret: STRIPE_WEBHOOK_SECRET for "stripe".
Puts events on the queue of REDIS_URL, or without it into the ledger of DATABASE_URL. Given both, what
one of them cannot take in time goes to the other.

Example:
  $ REDIS_URL=redis://127.0.0.1:6379 STRIPE_WEBHOOK_SECRET=whsec_... millrace ingress`,
    load: async () => (await import("@millrace/ingress")).main,
  },
  {
    name: "worker",
    description: "run the handlers: claim, handle, settle",
    help: `
Serves health and metrics on WORKER_PORT (3002). Start as many as you like.

Example:
  $ REDIS_URL=redis://127.0.0.1:6379 DATABASE_URL=postgres://127.0.0.1/app millrace worker`,
    load: async () => (await import("@millrace/worker")).main,
  },
  {
    name: "dashboard",
    description: "show the queues and the ledger, and retry what failed",
    help: `
Listens on DASHBOARD_PORT (3001); beyond loopback it wants DASHBOARD_USER and DASHBOARD_PASSWORD,
or DASHBOARD_TOKEN.
Behind a proxy name it in DASHBOARD_HOSTS: requests for other hosts are refused.

Example:
  $ DATABASE_URL=postgres://127.0.0.1/app millrace dashboard`,
    load: async () => (await import("@millrace/dashboard")).main,
  },
];

/** `millrace ingress | worker | dashboard`: one role in this process, until it is told to stop. */
export function addRoleCommands(program: Command, context: CliContext): void {
  for (const role of ROLES) {
    program
      .command(role.name)
      .description(role.description)
      .addHelpText("after", role.help)
      .action(async () => {
        const { configPath } = readSettings(context);
        const main = await role.load();
        await main({ ...context.env, MILLRACE_CONFIG: configPath });
      });
  }
}
