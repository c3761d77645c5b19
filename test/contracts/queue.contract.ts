import { useQueueBench, type QueueGround } from "./queue-bench.ts";
import { queueComparing } from "./queue-comparing.contract.ts";
import { queueDying } from "./queue-dying.contract.ts";
import { queuePlacing } from "./queue-placing.contract.ts";
import { queuePressure } from "./queue-pressure.contract.ts";
import { queueRunning } from "./queue-running.contract.ts";
import { queueSettling } from "./queue-settling.contract.ts";

/** What every backend's queues must hold to. */
export function queueContract(prepare: () => Promise<QueueGround>): void {
  const bench = useQueueBench(prepare);
  queueRunning(bench);
  queuePlacing(bench);
  queueSettling(bench);
  queueDying(bench);
  queuePressure(bench);
  queueComparing(bench);
}
