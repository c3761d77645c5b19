import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./fault.ts";

const TERMINATE = `
select count(pg_terminate_backend(pid))::int as ended from pg_stat_activity
where application_name like 'millrace-%' and random() < 0.5`;

/** F14: Postgres is restarted, is killed, or ends connections in the middle of handlers. */
export const restartPostgres: Fault = {
  id: "F14",
  title: "Postgres restarted or killed; backends terminated",
  uses: ["postgres"],
  ways: {
    terminate: async ({ stage }) => {
      const { rows } = await stage.database.query(TERMINATE);
      stage.strike("F14", `${rows[0].ended} backends terminated`);
    },
    restart: async ({ stage }) => {
      stage.strike("F14", "Postgres restarted");
      await stage.ground.restartPostgres();
    },
    kill: async ({ stage, random }) => {
      await stage.ground.postgres.kill();
      stage.strike("F14", "Postgres killed");
      await sleep(random.between(0, 2_000));
      await stage.ground.restartPostgres();
    },
  },
};
