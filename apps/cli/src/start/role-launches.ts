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

interface Role {
  readonly name: string;
  readonly role: "ingress" | "worker" | "dashboard";
  readonly variable: "INGRESS_PORT" | "WORKER_PORT" | "DASHBOARD_PORT";
  readonly env: Variables;
}

export function roleLaunches(context: CliContext, options: RolesOptions) {
  const { environment, workers } = options;
  const taken = new Set<number>();
  const roles: readonly Role[] = [
    { name: "ingress", role: "ingress", variable: "INGRESS_PORT", env: options.ingress },
    ...Array.from({ length: workers }, (_, index): Role => {
      return { name: `worker-${index + 1}`, role: "worker", variable: "WORKER_PORT", env: {} };
    }),
    { name: "dashboard", role: "dashboard", variable: "DASHBOARD_PORT", env: {} },
  ];

  return roles.map(({ name, role, variable, env }) => {
    let port: number | undefined;
    const launch: Launch = async () => {
      // A restart keeps its port, unless somebody else has taken it since.
      if (port !== undefined) taken.delete(port);
      port = await freePort(port ?? environment[variable], options.host, taken);
      const inherited = { ...context.env, ...ofOtherRoles(context.env, role, options.sources) };
      const child = fork(context.bin, [role], {
        cwd: context.cwd,
        env: { ...inherited, ...options.shared, ...env, [variable]: String(port) },
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
function ofOtherRoles(env: Variables, role: Role["role"], sources: readonly string[]): Variables {
  const ofIngress = new Set(sources.map(secretVariable).flatMap((name) => [name, `${name}_FILE`]));
  const ownerOf = (name: string): Role["role"] | undefined => {
    if (ofIngress.has(name)) return "ingress";
    if (name === "RETENTION_DATABASE_URL") return "worker";
    return name.startsWith("DASHBOARD_") ? "dashboard" : undefined;
  };
  const names = Object.keys(env).filter((name) => (ownerOf(name) ?? role) !== role);
  return Object.fromEntries(names.map((name) => [name, ""]));
}
