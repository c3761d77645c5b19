import { createHash } from "node:crypto";
import { makeDay } from "../../support/aged-events.ts";
import { withQueue } from "../../support/queue-fixture.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import type { Random } from "../random.ts";
import type { Fault, FaultContext, Way } from "./fault.ts";

export const operators: Fault = {
  id: "F22",
  title: "two operators retry and replay at once, during a rolling deploy",
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

export const inject: Fault = {
  id: "F24",
  title: "jobs injected by hand",
  uses: ["redis", "postgres"],
  ways: {
    "no envelope": injectOf(() => ({ hello: "world" })),
    "another's hash": injectOf((id) => envelope(id, { body_hash: hash("another body") })),
    "another's id": injectOf((id) => envelope(`${id}_of_another`)),
    "another's source": injectOf((id) => envelope(id, { source: "frail" })),
  },
};

function injectOf(data: (id: string) => Record<string, unknown>): Way {
  return async ({ environment, random }) => {
    const id = `msg_injected_${random.between(0, 2 ** 31)}`;
    environment.strangers.add(`steady/${id}`);
    await withQueue(environment.urls, "steady", (queue) =>
      queue.add("test.follow", data(id), { jobId: id }),
    );
    environment.strike("F24", `job ${id} injected`);
  };
}

function envelope(id: string, over: Record<string, unknown> = {}): Record<string, unknown> {
  const body = JSON.stringify({ type: "test.follow", plan: {} });
  return {
    v: 1,
    source: "steady",
    id,
    type: "test.follow",
    generation: 0,
    accepted_at: Date.now(),
    body_hash: hash(body),
    headers: {},
    unsigned: false,
    body,
    body_encoding: "utf8",
    ...over,
  };
}

function hash(body: string): string {
  return createHash("sha256").update(body).digest("base64url");
}

const AGE_DAYS = 40;
const WITHIN_MS = 30_000;

const AGE_BODIES = `
with chosen as (
  select source, event_id, generation, body_day, body_id from millrace.events
  where body_day > $1::date order by recorded_at desc limit 60
),
copied as (
  insert into millrace.bodies (day, id, headers, body)
  select $1::date, b.id, b.headers, b.body from millrace.bodies b
  where (b.day, b.id) in (select body_day, body_id from chosen)
  on conflict do nothing
)
update millrace.events e set body_day = $1::date from chosen c
where e.source = c.source and e.event_id = c.event_id and e.generation = c.generation`;

export const retention: Fault = {
  id: "F25",
  title: "the retention moves and drops bodies of events under way",
  // It needs Postgres up to make bodies old; the processes may die as they like.
  uses: ["postgres"],
  ways: {
    bodies: async ({ environment }) => {
      const { day, bodies } = await ageBodies(environment);
      // The worker that leads may be at it just now, or an attempt may have the bodies in use.
      const overMs = performance.now() + WITHIN_MS;
      while (performance.now() < overMs && !(await isGone(environment, day))) {
        await environment.command(["retention"]);
      }
      if (bodies > 0 && (await isGone(environment, day))) {
        environment.strike("F25", `dropped the day of ${bodies} bodies`);
      }
    },
  },
};

async function ageBodies({ database }: FaultEnvironment): Promise<{ day: string; bodies: number }> {
  const client = await database.connect();
  try {
    // Past the trigger that refuses to touch what is completed. A worker's own run sees all or nothing.
    await client.query("begin; set local session_replication_role = replica");
    const day = await makeDay(client, AGE_DAYS);
    const { rowCount } = await client.query(AGE_BODIES, [day]);
    await client.query("commit");
    return { day, bodies: rowCount ?? 0 };
  } finally {
    client.release(true);
  }
}

async function isGone({ database }: FaultEnvironment, day: string): Promise<boolean> {
  const { rows } = await database.query("select to_regclass($1) is null as gone", [
    `millrace.bodies_${day.replaceAll("-", "")}`,
  ]);
  return rows[0].gone === true;
}
