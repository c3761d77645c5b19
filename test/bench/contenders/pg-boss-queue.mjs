import PgBoss from "pg-boss";

export const QUEUE = "bench";

export function jobOptions(eventId) {
  return { singletonKey: eventId, singletonSeconds: 43_200, retryLimit: 11 };
}

export async function startBoss(connectionString, { max = 20, supervise = false } = {}) {
  const boss = new PgBoss({ connectionString, max, supervise, schedule: false });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE);
  return boss;
}
