import PgBoss from "pg-boss";

export const QUEUE = "bench";

/** The options of a job. An event's id is refused again for half a day, as long as it keeps completed jobs. */
export function jobOptions(eventId) {
  return { singletonKey: eventId, singletonSeconds: 43_200, retryLimit: 11 };
}

/** A pg-boss. Only a worker's supervises the queues. */
export async function startBoss(connectionString, { max = 20, supervise = false } = {}) {
  const boss = new PgBoss({ connectionString, max, supervise, schedule: false });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE);
  return boss;
}
