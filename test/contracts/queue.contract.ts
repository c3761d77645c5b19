import { queueComparing } from "./queue-comparing.contract.ts";
import { queueDying } from "./queue-dying.contract.ts";
import { queueEnqueuing } from "./queue-enqueuing.contract.ts";
import { queuePressure } from "./queue-pressure.contract.ts";
import { queueRunning } from "./queue-running.contract.ts";
import { queueSettling } from "./queue-settling.contract.ts";
import { useQueueFixture, type QueueServer } from "./queue-fixture.ts";

export const enqueueTimeoutMs = 20_000;

export function queueContract(prepare: () => Promise<QueueServer>): void {
  const fixture = useQueueFixture(prepare);
  queueRunning(fixture);
  queueEnqueuing(fixture);
  queueSettling(fixture);
  queueDying(fixture);
  queuePressure(fixture);
  queueComparing(fixture);
}
