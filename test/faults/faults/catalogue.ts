import { killIngress, killIngressBehindTheAnswer } from "./f01-kill-ingress.ts";
import { stopIngress } from "./f02-stop-ingress.ts";
import { killWorker } from "./f03-kill-worker.ts";
import { freezeWorker } from "./f05-freeze-worker.ts";
import { blockWorker } from "./f06-block-worker.ts";
import { killRedis } from "./f07-kill-redis.ts";
import { emptyQueue } from "./f10-empty-queue.ts";
import { fillRedis } from "./f11-full-redis.ts";
import { hangRedis } from "./f12-hang-redis.ts";
import { restartPostgres } from "./f14-restart-postgres.ts";
import { cutCommit } from "./f15-cut-commit.ts";
import { hangPostgres } from "./f16-hang-postgres.ts";
import { quarrel } from "./f17-quarrel.ts";
import { refusePostgres } from "./f18-refuse-postgres.ts";
import { skewClock } from "./f19-skew-clock.ts";
import { storm } from "./f20-storm.ts";
import { poison } from "./f21-poison.ts";
import { operators } from "./f22-operators.ts";
import { inject } from "./f24-inject.ts";
import { retain } from "./f25-retain.ts";
import type { Fault } from "./fault.ts";

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
  quarrel,
  refusePostgres,
  skewClock,
  storm,
  poison,
  operators,
  inject,
  retain,
];
