import { setTimeout as sleep } from "node:timers/promises";
import { queryOnce } from "../../support/query-once.ts";
import { keyOf } from "../load/client-log.ts";
import { readJobs } from "./empty-queue.ts";
import type { Fault, FaultContext } from "./fault.ts";

// Postgres dies, and a standby that streams from it is promoted under another address. What the old one had is read from
// itself, once nobody else can reach it.

/** F31: each commit has waited for the standby. Nothing may be lost, and nothing is excused. */
export const failOverPostgres: Fault = {
  id: "F31",
  title: "failover of Postgres to a synchronous standby",
  // While one store is down only the other one has its events: then this is no single fault.
  uses: ["redis", "postgres"],
  ways: {
    synchronous: async (context) => {
      const { lost } = await failOver(context, "synchronous");
      context.environment.strike("F31", `Postgres failed over; ${lost.length} commits unanswered`);
    },
  },
};

/** F32: the standby has nothing of the last seconds. Only what nothing else has may be lost: events without a job. */
export const failOverPostgresBehind: Fault = {
  id: "F32",
  title: "failover of Postgres to a standby that is seconds behind",
  uses: ["redis", "postgres"],
  // Of all that was delivered before it, nobody can say any longer how often it was attempted.
  byName: true,
  ways: {
    behind: async (context) => {
      const { environment, log } = context;
      const { lost, completed } = await failOver(context, "behind");
      const jobs = await readJobs(environment);
      const alone = lost.filter((key) => !jobs.has(key));
      for (const key of alone) environment.excused.add(key);
      // Deliveries that were under way at its end are answered by now.
      for (const key of log.accounts.keys()) environment.undone.add(key);
      environment.strike(
        "F32",
        `Postgres failed over; ${lost.length} events gone, ${alone.length} of them without a job, ` +
          `${completed} completed ones undone`,
      );
    },
  },
};

/** Gives what the old server had and the new one does not: events, and how many had completed. */
async function failOver(
  { environment, random }: FaultContext,
  how: "synchronous" | "behind",
): Promise<{ lost: readonly string[]; completed: number }> {
  const { servers } = environment;
  const standby = await servers.startStandby();
  try {
    if (how === "synchronous") await standby.makeSynchronous();
    else standby.link.freeze();
    await sleep(random.between(1_000, 3_000));
    const { had, has } = await servers.failOver(standby, readEvents);
    const undone = [...had].filter(([key, status]) => has.get(key) !== status);
    return {
      lost: [...had.keys()].filter((key) => !has.has(key)),
      completed: undone.filter(([, status]) => status === "completed").length,
    };
  } finally {
    await standby.link.close();
    if (servers.postgres !== standby.server) await standby.server.stop("immediate");
  }
}

/** The status of each event that was received. */
export async function readEvents(url: string): Promise<Map<string, string>> {
  const rows = await queryOnce<{ source: string; id: string; status: string }>(
    url,
    "select source, event_id as id, status from millrace.events where generation = 0",
  );
  return new Map(rows.map((row) => [keyOf(row), row.status]));
}
