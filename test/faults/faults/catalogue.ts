import { emptyQueue } from "./empty-queue.ts";
import { handlerConflicts, poison, storm } from "./events.ts";
import type { Fault } from "./fault.ts";
import { startNeighbor } from "./neighbor.ts";
import { inject, operators, retention } from "./people.ts";
import {
  cutCommit,
  failOverPostgres,
  failOverPostgresBehind,
  hangPostgres,
  refusePostgres,
  restartPostgres,
  restorePostgres,
} from "./postgres.ts";
import { failOverRedis, fillRedis, hangRedis, killRedis, restoreRedis } from "./redis.ts";
import {
  blockWorker,
  freezeWorker,
  killIngress,
  killIngressBehindTheAnswer,
  killWorker,
  skewClock,
  stopIngress,
  strikeGroup,
} from "./roles.ts";
import { failOverBySentinel, killRedisOnSlowDisk, restartPooler } from "./set-ups.ts";

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
  startNeighbor,
];
