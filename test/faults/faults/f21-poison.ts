import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../../support/until.ts";
import { countOthers, POISONED } from "../check/isolation.ts";
import { ALWAYS, plainEvent, type Plan, type PlannedEvent } from "../load/plan.ts";
import type { Fault, Scene, Way } from "./fault.ts";
import { reached } from "./strike-role.ts";

/** As many as would take every slot of every worker, and events of others that must get by. */
const FLOOD = 40;
const OTHERS = 30;
/** Then the others have not got by, and the account says how late they were. */
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
    fails: poisonOf({ fails: ALWAYS }),
    huge: poisonOf({}, { paddingBytes: HUGE_BYTES }),
    floods: flood,
    dies: async (scene) => {
      const before = countDeaths(scene);
      const id = sendPoison(scene, { dies: 1 });
      if (!(await reached(() => countDeaths(scene) > before, 25_000))) return;
      scene.stage.strike("F21", `${id} killed its worker`);
      const dead = await until(() => scene.stage.workers.find(({ up }) => !up));
      await dead.start();
    },
  },
};

function poisonOf(plan: Plan, over: Partial<PlannedEvent> = {}): Way {
  return async (scene) => {
    const id = sendPoison(scene, plan, over);
    scene.stage.strike("F21", `${id} ${Object.keys({ ...plan, ...over }).join()}`);
    await Promise.resolve();
  };
}

/** A source whose every event hangs, for as long as the others need to show that they get by. */
async function flood(scene: Scene): Promise<void> {
  const { stage, random } = scene;
  const heldBy = `let-go-${random.between(0, 2 ** 31)}`;
  const before = countHeld(scene);
  const fromMs = Date.now();
  for (let sent = 0; sent < FLOOD; sent += 1) sendPoison(scene, { heldBy }, { copies: 1 });
  try {
    if (!(await reached(() => countHeld(scene) > before, 25_000))) return;
    stage.strike("F21", `${FLOOD} events hang`);
    await reached(async () => (await countOthers(stage, fromMs)) >= OTHERS, HOLD_MAX_MS);
  } finally {
    await writeFile(join(stage.folder, heldBy), "");
  }
}

function sendPoison({ random, send }: Scene, plan: Plan, over: Partial<PlannedEvent> = {}): string {
  const id = `msg_poison_${random.between(0, 2 ** 31)}`;
  send(plainEvent(id, { source: POISONED, plan, copies: random.between(1, 5), ...over }));
  return id;
}

function countHeld({ stage }: Scene): number {
  return stage.workers.reduce((sum, role) => sum + (role.strikes.get("handler.held") ?? 0), 0);
}

function countDeaths({ stage }: Scene): number {
  return stage.workers.reduce((sum, role) => sum + (role.strikes.get("handler.dies") ?? 0), 0);
}
