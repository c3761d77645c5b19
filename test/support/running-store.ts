import exported from "../../examples/store/millrace.config.ts";
import { openOn, type TestServers } from "./backends.ts";
import type { RoleOptions } from "./in-process.ts";
import { createPipeline } from "./pipeline.ts";
import { millrace, STORE_CONFIG, type CommandOptions } from "./run-in-process.ts";

export type RunningStore = Awaited<ReturnType<typeof startStore>>;

export const STORE_SECRETS = {
  HOOKMESH_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
  STRIPE_WEBHOOK_SECRET: "whsec_a_stripe_secret",
  GITHUB_WEBHOOK_SECRET: "a-github-secret",
  STANDARD_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 8).toString("base64")}`,
};

export function startStore(servers: TestServers, options: RoleOptions = {}) {
  return openOn(servers, () => startRoles(servers, options));
}

async function startRoles(servers: TestServers, options: RoleOptions) {
  const over = { MILLRACE_CONFIG: STORE_CONFIG, ...STORE_SECRETS };
  const pipeline = await createPipeline(servers, over, exported);
  const roles = await Promise.all(
    (["ingress", "worker", "worker", "dashboard"] as const).map((role) =>
      pipeline.startInProcess(role, {}, options),
    ),
  );
  const [ingress, , , dashboard] = roles;
  const env = { ...pipeline.env, INGRESS_PORT: new URL(ingress?.url ?? "").port };
  const run = (args: readonly string[], given?: Pick<CommandOptions, "stdin">) =>
    millrace(args, { ...given, env });
  return {
    dashboardUrl: dashboard?.url ?? "",
    database: pipeline.database,
    run,
    command: async (...args: readonly string[]): Promise<string> => {
      // Senders repeat a delivery that a busy ingress answers with 503.
      for (let tries = 1; ; tries += 1) {
        const { code, stdout, stderr } = await run(args);
        if (code === 0) return stdout;
        if (tries < 10 && stdout.includes('"code":"unavailable"')) continue;
        throw new Error(`Cannot run millrace ${args.join(" ")}: ${stdout}${stderr}`);
      }
    },
    stop: async () => {
      await pipeline.stop();
      await servers.release();
    },
  };
}
