import pg from "pg";
import type { FaultEnvironment } from "../environment/environment.ts";
import { flushRedis } from "./empty-queue.ts";
import type { Fault, Way } from "./fault.ts";

/** F36: workers of another environment start on our Redis. They run none of our events. */
export const startNeighbor: Fault = {
  id: "F36",
  title: "a worker of another database on the same Redis",
  uses: ["postgres", "redis", "worker"],
  applies: ({ backend }) => backend === "redis",
  ways: {
    starts: besideNeighbor(async () => {}),
    "starts after FLUSHALL": besideNeighbor(async (environment) => {
      await flushRedis(environment);
    }),
  },
};

function besideNeighbor(before: (environment: FaultEnvironment) => Promise<void>): Way {
  return async ({ environment, random }) => {
    const name = `neighbor_${random.between(0, 2 ** 31)}`;
    await environment.database.query(`create database ${name}`);
    const url = new URL(environment.urls.databaseUrl);
    url.pathname = `/${name}`;
    const database = new pg.Client({ connectionString: url.href });
    const migrated = await environment.neighbor(url.href, "migrate");
    if (migrated.code !== 0) throw new Error(`Cannot migrate the neighbor: ${migrated.output}`);
    await before(environment);
    environment.strike("F36", "a worker of another database starts");
    // It is refused, or it has come in between and stops once our workers have renewed their marks.
    const worker = await environment.neighbor(url.href, "worker");
    if (worker.code === 0 || !worker.output.includes("queue_in_use")) {
      throw new Error(`The neighbor ended with ${worker.code}: ${worker.output}`);
    }
    await database.connect();
    try {
      const { rows } = await database.query("select source, event_id from millrace.events");
      if (rows.length > 0) throw new Error(`The neighbor has ${JSON.stringify(rows.slice(0, 3))}`);
    } finally {
      await database.end();
    }
  };
}
