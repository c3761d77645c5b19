import { fork } from "node:child_process";
import { secretVariable, type Environment } from "@millrace/core";
import type { CliContext } from "../context.ts";
import { freePort } from "./free-port.ts";
import { pipeLines } from "./log-lines.ts";
import type { Launch } from "./supervisor.ts";

type Variables = Readonly<Record<string, string | undefined>>;

interface RolesOptions {
  readonly environment: Environment;
  readonly host: string;
  readonly workers: number;
  readonly shared: Variables;
  readonly ingress: Variables;
  readonly sources: readonly string[];
}

const PORTS = {
  ingress: "INGRESS_PORT",
  worker: "WORKER_PORT",
  dashboard: "DASHBOARD_PORT",
} as const;
type Role = keyof typeof PORTS;

export function roleLaunches(context: CliContext, options: RolesOptions) {
  const { environment, workers } = options;
  const taken = new Set<number>();
  const ofWorkers = Array.from({ length: workers }, (_, index) => `worker-${index + 1}`);
  return ["ingress", ...ofWorkers, "dashboard"].map((name) => {
    const role: Role = name === "ingress" || name === "dashboard" ? name : "worker";
    const variable = PORTS[role];
    const secrets = role === "ingress" ? options.ingress : {};
    let port: number | undefined;
    const launch: Launch = async () => {
      // A restart keeps its port, unless somebody else has taken it since.
      if (port !== undefined) taken.delete(port);
      port = await freePort(port ?? environment[variable], options.host, taken);
      const inherited = { ...context.env, ...ofOtherRoles(context.env, role, options.sources) };
      const child = fork(context.bin, [role], {
        cwd: context.cwd,
        env: { ...inherited, ...options.shared, ...secrets, [variable]: String(port) },
        execArgv: [],
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        // A group of its own, so that Ctrl-C in the terminal reaches this process alone.
        detached: true,
      });
      if (child.stdout !== null) pipeLines(child.stdout, name, context.stdout);
      if (child.stderr !== null) pipeLines(child.stderr, name, context.stderr, "warn");
      return child;
    };
    return { name, launch };
  });
}

/** The secrets of other roles, empty, so that the `.env` that every process reads sets none. */
export function ofOtherRoles(env: Variables, role: Role, sources: readonly string[]): Variables {
  const ofIngress = new Set(sources.map(secretVariable).flatMap((name) => [name, `${name}_FILE`]));
  const ownerOf = (name: string): Role | undefined => {
    if (ofIngress.has(name)) return "ingress";
    if (name === "RETENTION_DATABASE_URL") return "worker";
    // Workers link to it in alerts.
    if (name === "DASHBOARD_URL") return undefined;
    return name.startsWith("DASHBOARD_") ? "dashboard" : undefined;
  };
  const names = Object.keys(env).filter((name) => (ownerOf(name) ?? role) !== role);
  return Object.fromEntries(names.map((name) => [name, ""]));
}
