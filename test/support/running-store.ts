import type { Credentials } from "@millrace/dashboard";
import exported from "../../examples/store/millrace.config.ts";
import {
  millrace,
  STORE_CONFIG,
  type CommandOptions,
  type Outcome,
} from "../cli/run-in-process.ts";
import { startInProcess } from "./in-process.ts";

/** The example store with all its roles in this process, and the command beside it. */
export interface RunningStore {
  readonly dashboardUrl: string;
  readonly databaseUrl: string;
  /** Runs a command line in the store's folder. */
  run(args: readonly string[], options?: Pick<CommandOptions, "stdin">): Promise<Outcome>;
  /** Runs a command line, and gives what it printed. @throws when it fails. */
  command(...args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

const SECRETS = {
  HOOKMESH_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
  STRIPE_WEBHOOK_SECRET: "whsec_a_stripe_secret",
  GITHUB_WEBHOOK_SECRET: "a-github-secret",
  STANDARD_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 8).toString("base64")}`,
};

/** Starts the example store over a database and, on Redis, a Redis; with two workers. */
export async function startStore(
  { databaseUrl, redisUrl }: { databaseUrl: string; redisUrl?: string | undefined },
  { credentials }: { credentials?: Credentials } = {},
): Promise<RunningStore> {
  const common = {
    MILLRACE_CONFIG: STORE_CONFIG,
    DATABASE_URL: databaseUrl,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    HOST: "127.0.0.1",
    INGRESS_PORT: "0",
    WORKER_PORT: "0",
    DASHBOARD_PORT: "0",
    ...SECRETS,
  };
  await succeed(["migrate"], common);
  const roles = await Promise.all(
    (["ingress", "worker", "worker", "dashboard"] as const).map((role) =>
      startInProcess(role, exported, common, { dashboard: { credentials } }),
    ),
  );
  const [ingress, , , dashboard] = roles;
  const env = { ...common, INGRESS_PORT: new URL(ingress?.url ?? "").port };
  return {
    dashboardUrl: dashboard?.url ?? "",
    databaseUrl,
    run: (args, options) => millrace(args, { ...options, env }),
    command: (...args) => succeed(args, env),
    stop: async () => {
      await Promise.all(roles.map((role) => role.close()));
    },
  };
}

async function succeed(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const { code, stdout, stderr } = await millrace(args, { env });
  if (code !== 0) throw new Error(`Cannot run millrace ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}
