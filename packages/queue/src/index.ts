export { checkRedis, type RedisFacts } from "./check-redis.ts";
export { connectionsWanted, type QueueRole } from "./connections-wanted.ts";
export { createPostgresQueues, type PostgresQueuesOptions } from "./create-postgres-queues.ts";
export { createRedisQueues, type RedisQueuesOptions } from "./create-redis-queues.ts";
export { jobId } from "./job-id.ts";
export type { Notify, QueueNotice } from "./notice.ts";
export { queueName } from "./queue-name.ts";
export type {
  EndedFrom,
  EndedJob,
  EndedJobs,
  FoundJob,
  JobCounts,
  JobGlance,
  Pressure,
  Queues,
  SourcePressure,
  Workers,
  WorkOptions,
} from "./queues.ts";
