/**
 * The writes of bull-board that the dashboard lets through, by method and route as bull-board
 * declares them. Each can be undone and loses nothing. The others remove, edit or forge jobs of
 * acknowledged events, or change what the worker's config decides.
 */
const ALLOWED_WRITES: ReadonlySet<string> = new Set([
  "put /api/queues/:queueName/:jobId/retry",
  "put /api/queues/:queueName/retry/:queueStatus",
  "put /api/queues/:queueName/:jobId/promote",
  "put /api/queues/:queueName/promote",
  "put /api/queues/:queueName/pause",
  "put /api/queues/:queueName/resume",
  "put /api/queues/pause",
  "put /api/queues/resume",
]);

/** Reads that would show what the masks do not cover: a scheduler's template holds job data. */
const REFUSED_READS: ReadonlySet<string> = new Set(["get /api/job-schedulers"]);

/** Whether a route of bull-board's own table may be used. What is new in it may not be written to. */
export function mayUse(method: string, route: string): boolean {
  const key = `${method} ${route}`;
  return method === "get" ? !REFUSED_READS.has(key) : ALLOWED_WRITES.has(key);
}
