import { until } from "../../support/until.ts";
import { ALWAYS, plainEvent, type Plan } from "../load/plan.ts";
import type { Fault, Scene, Way } from "./fault.ts";
import { reached } from "./strike-role.ts";

/** F21: events that hang, kill their worker or never succeed. The other events go on. */
export const poison: Fault = {
  id: "F21",
  title: "poison: handlers that hang, that kill their worker, that always fail",
  uses: ["worker"],
  ways: {
    hangs: poisonOf({ hangs: 1 }),
    fails: poisonOf({ fails: ALWAYS }),
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

function poisonOf(plan: Plan): Way {
  return async (scene) => {
    scene.stage.strike("F21", `${sendPoison(scene, plan)} ${Object.keys(plan).join()}`);
    await Promise.resolve();
  };
}

function sendPoison({ random, send }: Scene, plan: Plan): string {
  const id = `msg_poison_${random.between(0, 2 ** 31)}`;
  send(plainEvent(id, { source: "frail", plan, copies: random.between(1, 5) }));
  return id;
}

function countDeaths({ stage }: Scene): number {
  return stage.workers.reduce((sum, role) => sum + (role.strikes.get("handler.dies") ?? 0), 0);
}
