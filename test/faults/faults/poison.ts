import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../../support/until.ts";
import { countOthers, POISONED } from "../check/isolation.ts";
import { ALWAYS, CALLED_TYPE, plainEvent, type Plan, type PlannedEvent } from "../load/plan.ts";
import type { Fault, FaultContext, Way } from "./fault.ts";
import { countStrikes, reached } from "./strike-role.ts";

/** As many as would take every slot of every worker, and events of others that must get by. */
const FLOOD = 40;
const OTHERS = 30;
/** Then the others have not got by, and the check of isolation says how late they were. */
const HOLD_MAX_MS = 40_000;
const HUGE_BYTES = 900_000;

/** F21: events that hang, kill their worker, never succeed or are huge. The other events go on. */
export const poison: Fault = {
  id: "F21",
  title: "poison: handlers that hang, kill their worker or always fail; huge events",
  uses: ["worker"],
  sparesOthers: true,
  ways: {
    hangs: poisonOf({ hangs: 1 }),
    "hangs in a call": poisonOf({ call: { steps: 2, hangs: 1 } }, { type: CALLED_TYPE }),
    fails: poisonOf({ fails: ALWAYS }),
    huge: poisonOf({}, { paddingBytes: HUGE_BYTES }),
    floods: flood,
    dies: async (context) => {
      const before = countStrikes(context, "handler.dies");
      const id = sendPoison(context, { dies: 1 });
      if (!(await reached(() => countStrikes(context, "handler.dies") > before, 25_000))) return;
      context.environment.strike("F21", `${id} killed its worker`);
      const dead = await until(() => context.environment.workers.find(({ up }) => !up));
      await dead.start();
    },
  },
};

function poisonOf(plan: Plan, over: Partial<PlannedEvent> = {}): Way {
  return async (context) => {
    const id = sendPoison(context, plan, over);
    context.environment.strike("F21", `${id} ${Object.keys({ ...plan, ...over }).join()}`);
    await Promise.resolve();
  };
}

/** A source whose every event hangs, for as long as the others need to show that they get by. */
async function flood(context: FaultContext): Promise<void> {
  const { environment, random } = context;
  const heldBy = `let-go-${random.between(0, 2 ** 31)}`;
  const before = countStrikes(context, "handler.held");
  const fromMs = Date.now();
  for (let sent = 0; sent < FLOOD; sent += 1) sendPoison(context, { heldBy }, { copies: 1 });
  try {
    if (!(await reached(() => countStrikes(context, "handler.held") > before, 25_000))) return;
    environment.strike("F21", `${FLOOD} events hang`);
    await reached(async () => (await countOthers(context, fromMs)) >= OTHERS, HOLD_MAX_MS);
  } finally {
    await writeFile(join(environment.folder, heldBy), "");
  }
}

function sendPoison(
  { random, send }: FaultContext,
  plan: Plan,
  over: Partial<PlannedEvent> = {},
): string {
  const id = `msg_poison_${random.between(0, 2 ** 31)}`;
  send(plainEvent(id, { source: POISONED, plan, copies: random.between(1, 5), ...over }));
  return id;
}
