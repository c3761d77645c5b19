import type { createPool } from "@millrace/ledger";
import { readRedisFacts } from "@millrace/queue";
import { reasonOf } from "@millrace/service";
import type { Stores } from "../stores.ts";
import { readRun, type Run } from "../data-folder.ts";
import type { Settings } from "../context.ts";
import { isFree } from "../start/free-port.ts";
import { bad, check, note, ok, type Check } from "./report.ts";

type Pool = ReturnType<typeof createPool>;

/** Milliseconds that clocks may differ by; signatures and delays allow for much more. */
const SKEW_MS_MAX = 5_000;
const READY_MS_MAX = 3_000;

/** Checks the roles of the `millrace start` that runs here, or else that their ports are free. */
export async function checkListeners(settings: Settings): Promise<Check> {
  const run = await readRun(settings.dataDir);
  return run === undefined ? await checkPorts(settings) : await checkRoles(run);
}

function checkRoles(run: Run): Promise<Check> {
  return check("roles", async () => {
    const host = new URL(run.ingress_url).hostname;
    const states = await Promise.all(
      run.processes.map(async ({ name, port }) => {
        return { name, state: await readiness(`http://${host}:${port}/readyz`) };
      }),
    );
    const detail = states.map(({ name, state }) => `${name} ${state}`).join(", ");
    const fix = "Their lines in the output of `millrace start` say why";
    return states.every(({ state }) => state === "ready") ? ok(detail) : bad(detail, fix);
  });
}

async function readiness(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(READY_MS_MAX) });
    const body: unknown = await response.json();
    const status = typeof body === "object" && body !== null && "status" in body ? body.status : "";
    return response.ok && typeof status === "string" ? status : "not ready";
  } catch (error) {
    return `does not answer (${reasonOf(error)})`;
  }
}

function checkPorts({ environment }: Settings): Promise<Check> {
  return check("ports", async () => {
    const { INGRESS_PORT, DASHBOARD_PORT, WORKER_PORT, HOST = "127.0.0.1" } = environment;
    const ports = [INGRESS_PORT, DASHBOARD_PORT, WORKER_PORT];
    const free = await Promise.all(ports.map((port) => isFree(port, HOST)));
    const taken = ports.filter((_, index) => free[index] === false);
    if (taken.length === 0) return ok(`${ports.join(", ")} are free`);
    return note(
      `${taken.join(", ")} taken: \`millrace start\` takes the next free one, a role alone fails`,
    );
  });
}

/** Checks that this machine, Postgres and Redis agree on the time. */
export function checkClocks(pool: Pool, { redisUrl }: Stores): Promise<Check> {
  return check("clocks", async () => {
    const clocks = [{ name: "Postgres", skewMs: await skewOf(() => postgresTimeMs(pool)) }];
    if (redisUrl !== undefined) {
      const skewMs = await skewOf(async () => {
        return (await readRedisFacts(redisUrl)).timeMs;
      });
      clocks.push({ name: "Redis", skewMs });
    }
    const detail = clocks.map(({ name, skewMs }) => `${name} ${inWords(skewMs)}`).join(", ");
    return clocks.every(({ skewMs = 0 }) => Math.abs(skewMs) <= SKEW_MS_MAX)
      ? ok(detail)
      : bad(detail, "Set the clocks by NTP: signatures and retries go by them");
  });
}

/** Milliseconds by which a clock is ahead of ours, at least: the request takes time too. */
async function skewOf(read: () => Promise<number | undefined>): Promise<number | undefined> {
  const fromMs = Date.now();
  const theirsMs = await read();
  const tillMs = Date.now();
  if (theirsMs === undefined) return undefined;
  if (theirsMs < fromMs) return theirsMs - fromMs;
  return Math.max(0, theirsMs - tillMs);
}

async function postgresTimeMs(pool: Pool): Promise<number | undefined> {
  const { rows } = await pool.query<{ ms: number }>(
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms",
  );
  return rows[0]?.ms;
}

function inWords(ms: number | undefined): string {
  if (ms === undefined) return "does not report its time";
  const seconds = Math.round(Math.abs(ms) / 1_000);
  if (seconds === 0) return "has our time";
  return `is ${seconds} s ${ms > 0 ? "ahead" : "behind"}`;
}
