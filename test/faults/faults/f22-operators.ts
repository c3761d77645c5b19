import type { Random } from "../random.ts";
import type { Stage } from "../stage/stage.ts";
import type { Fault, Scene } from "./fault.ts";

/** F22: two people retry and replay at once, while the workers are being deployed. */
export const operators: Fault = {
  id: "F22",
  title: "two operators retry and replay at once, during a rolling deploy",
  // What they ask for is looked up in Postgres.
  uses: ["worker", "postgres"],
  ways: {
    retry: async (scene) => {
      await Promise.all([deploy(scene), retryAll(scene), retryAll(scene)]);
    },
    replay: async (scene) => {
      await Promise.all([deploy(scene), replaySome(scene), replaySome(scene)]);
    },
  },
};

async function deploy({ stage }: Scene): Promise<void> {
  for (const role of stage.workers) {
    const code = await role.end("SIGTERM");
    // Without a code it was ended by poison, just before.
    if (code !== 0 && code !== null) throw new Error(`${role.name} exited with ${code} on SIGTERM`);
    await role.start();
  }
}

async function retryAll({ stage }: Scene): Promise<void> {
  const url = await dashboardOf(stage);
  const { rows } = await stage.database.query(
    "select source, event_id as id from millrace.events where status = 'failed' order by random() limit 20",
  );
  const answers = await Promise.all([
    post(`${url}/api/retry`, { status: "failed", all: true }),
    ...rows.map((row) => post(`${url}/api/events/${pathOf(row)}/retry`)),
  ]);
  stage.strike("F22", `retried, answered ${summary(answers)}`);
}

async function replaySome({ stage, random }: Scene): Promise<void> {
  const url = await dashboardOf(stage);
  const wanted = await completed(stage, random);
  const answers = await Promise.all(
    wanted.map(async (row) => {
      const key = `${row.source}/${row.id}`;
      // Also one whose answer was lost may have been done.
      stage.replays.set(key, (stage.replays.get(key) ?? 0) + 1);
      return await post(`${url}/api/events/${pathOf(row)}/replay`);
    }),
  );
  stage.strike("F22", `replayed ${wanted.length}, answered ${summary(answers)}`);
}

interface Row {
  readonly source: string;
  readonly id: string;
}

async function completed({ database }: Stage, random: Random): Promise<readonly Row[]> {
  const { rows } = await database.query<Row>(
    "select source, event_id as id from millrace.events where status = 'completed' and outcome = 'handled' order by recorded_at desc limit 60",
  );
  return random.shuffled(rows).slice(0, 15);
}

async function dashboardOf(stage: Stage): Promise<string> {
  const known = stage.roles.find(({ kind }) => kind === "dashboard");
  if (known?.up === true) return known.url;
  const role = known ?? stage.addRole("dashboard");
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
