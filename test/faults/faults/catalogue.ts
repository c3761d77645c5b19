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
import { retention } from "./retention.ts";
import { skewClock } from "./skew-clock.ts";
import { storm } from "./storm.ts";
import { blockWorker, freezeWorker, killWorker } from "./worker.ts";

/** The faults that a random schedule draws from, in the order of the matrix. */
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
];
