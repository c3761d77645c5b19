import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./fault.ts";
import { plainEvent } from "../load/plan.ts";
import { reached } from "./strike-role.ts";

/** F6: a handler holds up its whole process for longer than its locks last. */
export const blockWorker: Fault = {
  id: "F6",
  title: "a handler that blocks the event loop for longer than the locks last",
  uses: ["worker"],
  ways: {
    block: async ({ stage, random, send }) => {
      const blocked = () =>
        stage.workers.reduce((sum, { strikes }) => sum + (strikes.get("handler.blocks") ?? 0), 0);
      const before = blocked();
      const id = `msg_block_${random.between(0, 2 ** 31)}`;
      const plan = { blocks: 1, blockMs: random.between(4_500, 6_000) };
      send(plainEvent(id, { plan, copies: 2 }));
      // It is delivered, queued and taken first, with other faults in the way.
      if (!(await reached(() => blocked() > before, 25_000))) return;
      stage.strike("F6", `a worker blocked for ${plan.blockMs} ms`);
      await sleep(plan.blockMs);
    },
  },
};
