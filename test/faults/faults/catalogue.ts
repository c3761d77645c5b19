import { emptyQueue } from "./empty-queue.ts";
import type { Fault } from "./fault.ts";
import { strikeGroup } from "./groups.ts";
import { handlerConflicts } from "./handler-conflicts.ts";
import { killIngress, killIngressBehindTheAnswer, stopIngress } from "./ingress.ts";
import { inject } from "./inject.ts";
import { operators } from "./operators.ts";
import { poison } from "./poison.ts";
import { cutCommit, hangPostgres, refusePostgres, restartPostgres } from "./postgres.ts";
import { fillRedis, hangRedis, killRedis } from "./redis.ts";
import { failOverPostgres, failOverPostgresBehind } from "./postgres-behind.ts";
import { failOverRedis, restoreRedis } from "./redis-behind.ts";
import { restartPooler } from "./pooler.ts";
import { retention } from "./retention.ts";
import { failOverBySentinel } from "./sentinel.ts";
import { skewClock } from "./skew-clock.ts";
import { killRedisOnSlowDisk } from "./slow-disk.ts";
import { storm } from "./storm.ts";
import { restorePostgres } from "./take-back.ts";
import { blockWorker, freezeWorker, killWorker } from "./worker.ts";

/** The faults, in the order of the matrix. A random schedule draws from those that need not be named. */
export const FAULTS: readonly Fault[] = [
  killIngress,
  killIngressBehindTheAnswer,
  stopIngress,
  killWorker,
  freezeWorker,
  blockWorker,
  killRedis,
  emptyQueue,
  fillRedis,
  hangRedis,
  restartPostgres,
  cutCommit,
  hangPostgres,
  handlerConflicts,
  refusePostgres,
  skewClock,
  storm,
  poison,
  operators,
  inject,
  retention,
  strikeGroup,
  restorePostgres,
  failOverRedis,
  restoreRedis,
  failOverPostgres,
  failOverPostgresBehind,
  restartPooler,
  failOverBySentinel,
  killRedisOnSlowDisk,
];
