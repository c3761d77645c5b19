import cluster from "node:cluster";
import type { Command } from "commander";
import { type CliContext, readSettings } from "../context.ts";
import { wholeNumber } from "../parse-option.ts";

// Each process loads only its own role.
const ROLES = [
  {
    name: "ingress",
    description: "receive webhooks: verify, identify, store, acknowledge",
    help: `
Listens on INGRESS_PORT (3000). Every source needs its secret: STRIPE_WEBHOOK_SECRET for "stripe".
Stores events in the queue at REDIS_URL, or in the ledger at DATABASE_URL if REDIS_URL is not set. With
both set, events that one store cannot accept in time go to the other.

With --processes, so many processes share the port, and one that dies is started again.

Example:
  $ REDIS_URL=redis://127.0.0.1:6379 STRIPE_WEBHOOK_SECRET=whsec_... millrace ingress`,
    load: async () => (await import("@millrace/ingress")).main,
  },
  {
    name: "worker",
    description: "process events: claim, handle, settle",
    help: `
Serves health and metrics on WORKER_PORT (3002). Run as many workers as you need.

Example:
  $ REDIS_URL=redis://127.0.0.1:6379 DATABASE_URL=postgres://127.0.0.1/app millrace worker`,
    load: async () => (await import("@millrace/worker")).main,
  },
  {
    name: "dashboard",
    description: "show queues and events, and retry failed events",
    help: `
Listens on DASHBOARD_PORT (3001). To listen beyond loopback, set DASHBOARD_USER and
DASHBOARD_PASSWORD, or DASHBOARD_TOKENS.
Behind a proxy, set its host name in DASHBOARD_HOSTS: requests for other hosts are refused. TRUST_PROXY
says whose X-Forwarded-For counts when passwords are checked.

Example:
  $ DATABASE_URL=postgres://127.0.0.1/app millrace dashboard`,
    load: async () => (await import("@millrace/dashboard")).main,
  },
];

export function addCommands(program: Command, context: CliContext): void {
  for (const role of ROLES) {
    const command = program
      .command(role.name)
      .description(role.description)
      .addHelpText("after", role.help);
    if (role.name === "ingress") {
      const count = wholeNumber({ min: 1, max: 64 });
      command.option("--processes <n>", "number of processes that share the port", count, 1);
    }
    command.action(async ({ processes = 1 }: { processes?: number }) => {
      if (processes > 1 && cluster.isPrimary) {
        const { runProcesses } = await import("../start/run-processes.ts");
        return await runProcesses(context, processes);
      }
      const { configPath } = readSettings(context);
      const main = await role.load();
      await main({ ...context.env, MILLRACE_CONFIG: configPath });
    });
  }
}
