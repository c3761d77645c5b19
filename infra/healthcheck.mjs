// A container's health, without curl: `node healthcheck.mjs [/healthz | /readyz] [role]`. Exits 0
// when the role answers 200. Without a role it asks the one that this container runs.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PORTS = {
  ingress: ["INGRESS_PORT", 3000],
  dashboard: ["DASHBOARD_PORT", 3001],
  worker: ["WORKER_PORT", 3002],
};
const TIMEOUT_MS = 4_000;

/** The role that a process was started as, by its command line as /proc gives it. */
export function roleOf(commandLine) {
  return commandLine.split("\0").find((word) => Object.hasOwn(PORTS, word));
}

async function check(path = "/healthz", role = roleOf(readFileSync("/proc/1/cmdline", "utf8"))) {
  // A command that ends by itself, such as migrate, has no port; its exit code says how it went.
  if (role === undefined) return true;
  if (!Object.hasOwn(PORTS, role)) throw new Error(`Cannot check "${role}": no such role`);
  const [variable, fallback] = PORTS[role];
  const port = process.env[variable] || fallback;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal });
  // The engine keeps what a check prints.
  process.stdout.write(`${role} ${path} ${response.status} ${await response.text()}\n`);
  return response.ok;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = (await check(...process.argv.slice(2))) ? 0 : 1;
  } catch (error) {
    process.stdout.write(`${error.cause?.message ?? error.message}\n`);
    process.exitCode = 1;
  }
}
