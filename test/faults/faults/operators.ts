import type { Random } from "../random.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import type { Fault, FaultContext } from "./fault.ts";

/** F22: two people retry and replay at once, while the workers are being deployed. */
export const operators: Fault = {
  id: "F22",
  title: "two operators retry and replay at once, during a rolling deploy",
  // What they ask for is looked up in Postgres.
  uses: ["worker", "postgres"],
  ways: {
    retry: async (context) => {
      await Promise.all([deploy(context), retryAll(context), retryAll(context)]);
    },
    replay: async (context) => {
      await Promise.all([deploy(context), replaySome(context), replaySome(context)]);
    },
  },
};

async function deploy({ environment }: FaultContext): Promise<void> {
  for (const role of environment.workers) {
    const code = await role.end("SIGTERM");
    // Without a code it was ended by poison, just before.
    if (code !== 0 && code !== null) throw new Error(`${role.name} exited with ${code} on SIGTERM`);
    await role.start();
  }
}

async function retryAll({ environment }: FaultContext): Promise<void> {
  const url = await dashboardOf(environment);
  const { rows } = await environment.database.query(
    "select source, event_id as id from millrace.events where status = 'failed' order by random() limit 20",
  );
  const answers = await Promise.all([
    post(`${url}/api/retry`, { status: "failed", since: "2020-01-01T00:00:00Z" }),
    ...rows.map((row) => post(`${url}/api/events/${pathOf(row)}/retry`)),
  ]);
  environment.strike("F22", `retried, answered ${summary(answers)}`);
}

async function replaySome({ environment, random }: FaultContext): Promise<void> {
  const url = await dashboardOf(environment);
  const wanted = await completed(environment, random);
  const answers = await Promise.all(
    wanted.map(async (row) => {
      const key = `${row.source}/${row.id}`;
      // Also one whose answer was lost may have been done.
      environment.replays.set(key, (environment.replays.get(key) ?? 0) + 1);
      return await post(`${url}/api/events/${pathOf(row)}/replay`);
    }),
  );
  environment.strike("F22", `replayed ${wanted.length}, answered ${summary(answers)}`);
}

interface Row {
  readonly source: string;
  readonly id: string;
}

async function completed({ database }: FaultEnvironment, random: Random): Promise<readonly Row[]> {
  const { rows } = await database.query<Row>(
    "select source, event_id as id from millrace.events where status = 'completed' and outcome = 'handled' order by recorded_at desc limit 60",
  );
  return random.shuffled(rows).slice(0, 15);
}

async function dashboardOf(environment: FaultEnvironment): Promise<string> {
  const known = environment.roles.find(({ kind }) => kind === "dashboard");
  if (known?.up === true) return known.url;
  const role = known ?? environment.addRole("dashboard");
  await role.start();
  return role.url;
}

function pathOf({ source, id }: Row): string {
  return `${source}/${encodeURIComponent(id)}`;
}

async function post(url: string, body: unknown = {}): Promise<number> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await response.text();
  return response.status;
}

function summary(statuses: readonly number[]): string {
  const counts = new Map<number, number>();
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${status}: ${count}`).join(", ");
}
