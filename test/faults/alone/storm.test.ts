import { afterEach, expect, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { countOthers } from "../check/isolation.ts";
import { storm } from "../faults/f20-storm.ts";
import { openScene, type OpenScene } from "../scenes/open-scene.ts";

const ALL = process.env["FAULTS"] === "all";
/** Events of the quiet stretch, to measure the other one by. */
const QUIET = 30;
const PATIENCE = { withinMs: 300_000 };

describeOnRedis("storms of duplicates on a stage of their own", () => {
  let scene: OpenScene | undefined;
  afterEach(() => scene?.close());

  test.runIf(ALL).for(["5000", "10000x20"])(
    "F20 %s deliveries over four ingresses run once each and hold up nobody else (needs FAULTS=all)",
    { timeout: 1_800_000 },
    async (way) => {
      const fromMs = Date.now();
      scene = await openScene(
        {
          ...{ backend: "redis", ack: "queue", ingresses: 4 },
          say: (line) => void process.stdout.write(`${line}\n`),
        },
        { rate: 25 },
      );
      const { stage } = scene;
      await until(async () => (await countOthers(stage, fromMs)) >= QUIET, PATIENCE);
      const struckMs = Date.now();
      await storm.longWays?.[way]?.(scene);
      expect(stage.struck.get("F20")).toBe(1);
      await until(async () => (await countOthers(stage, struckMs)) >= QUIET, PATIENCE);
      await scene.expectEven({
        quiet: { fromMs, toMs: struckMs },
        struck: { fromMs: struckMs, toMs: Date.now() },
      });
    },
  );
});
