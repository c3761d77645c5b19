/**
 * The queues: BullMQ, on Redis or on Postgres. One queue a source, one job an event and generation.
 * A job carries an envelope. It goes waiting → active → completed or failed, or delayed → waiting
 * to run again: create-queues.ts adds it; process-job.ts checks it, calls `run` (the processor) and
 * returns its JobResult in BullMQ's terms. BullMQ never ends a job by a count of its own.
 * - Dedup: the job id (jobs.ts), a hint: a queue forgets. The ledger's primary key is the fence.
 * - Deadlines: `enqueueTimeoutMs`, one second for `ping` (create-queues.ts), and those of other
 *   commands (redis-clients.ts, postgres-pool.ts). One circuit breaker for each server.
 * - Retries of an event belong to the processor, and of a lost job to the reconciler.
 */
export {
  checkRedis,
  isDiskSlow,
  readAppendfsync,
  readRedisFacts,
  redisFaults,
} from "./check-redis.ts";
export { isRedisOnThisMachine } from "./redis-address.ts";
export {
  connectionsWanted,
  createPostgresQueues,
  type PostgresQueuesOptions,
} from "./postgres-backend.ts";
export { createRedisQueues, type RedisQueuesOptions } from "./redis-backend.ts";
export { jobId, queueName } from "./jobs.ts";
export type { JobOwner, QueueMark, TakenMark } from "./queue-owner.ts";
export type { Notify, QueueNotice } from "./notices.ts";
export { createQueueLimits } from "./pressure.ts";
export type {
  FinishedFrom,
  FinishedJob,
  FinishedJobs,
  FoundJob,
  JobCounts,
  JobProblem,
  JobStatus,
  Pressure,
  QueueRole,
  Queues,
  SourcePressure,
  Workers,
  WorkOptions,
} from "./queues.ts";
