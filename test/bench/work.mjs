/** @throws when an effect is missing or doubled, and the round does not count */
export async function checkWork(query, events, { counts = false } = {}) {
  const [{ rows, distinct, counted }] = await query(
    `SELECT count(*)::int AS rows, count(DISTINCT event_id)::int AS distinct,
      (SELECT sum(events)::int FROM counters) AS counted FROM effects`,
  );
  const isWhole = rows === events && distinct === events;
  if (isWhole && (!counts || counted === events)) return;
  throw new Error(
    `Cannot use this round: ${events} events left ${rows} effects of ${distinct} events` +
      (counts ? `, and ${counted} counted` : ""),
  );
}

/**
 * Waits until a count has been reached, and gives the time. It asks for at most a tenth of the time.
 * @param {() => Promise<number>} count
 * @param {number} wanted
 * @param {{ withinMs?: number, onCount?: (done: number, now: number) => void }} [options]
 */
export async function untilCount(count, wanted, { withinMs = 120_000, onCount } = {}) {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    const began = performance.now();
    const done = await count();
    const now = performance.now();
    onCount?.(done, now);
    if (done >= wanted) return now;
    if (now > deadlineMs) throw new Error(`Cannot count ${wanted} events: there are only ${done}`);
    const pauseMs = Math.min(500, Math.max(10, (now - began) * 10));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
