import { afterEach, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { countOthers } from "../check/isolation.ts";
import { inject } from "../faults/f24-inject.ts";
import { poison } from "../faults/f21-poison.ts";
import { openScene, type OpenScene } from "../scenes/open-scene.ts";

/** Events of the quiet stretch, to measure the other one by. */
const QUIET = 30;
const PATIENCE = { withinMs: 180_000 };
/** Longer than the bound, so that whoever waits for a handler that hangs is too late. */
const HANDLER_TIMEOUT_MS = 45_000;

describeOnRedis("poison on a stage of its own", () => {
  let scene: OpenScene | undefined;
  afterEach(() => scene?.close());

  test(
    "F21 a flood that hangs, and events that fail, kill, are huge or no event, hold up nobody else",
    { timeout: 600_000 },
    async () => {
      const fromMs = Date.now();
      scene = await openScene(
        {
          ...{ backend: "redis", ack: "queue" },
          env: { FAULTS_HANDLER_TIMEOUT_MS: String(HANDLER_TIMEOUT_MS) },
          say: (line) => void process.stdout.write(`${line}\n`),
        },
        { rate: 25 },
      );
      const { stage } = scene;
      await until(async () => (await countOthers(stage, fromMs)) >= QUIET, PATIENCE);
      const struckMs = Date.now();
      for (const way of ["fails", "huge", "dies"]) await poison.ways[way]?.(scene);
      await inject.ways["no envelope"]?.(scene);
      await poison.ways["floods"]?.(scene);
      await scene.expectEven({
        quiet: { fromMs, toMs: struckMs },
        struck: { fromMs: struckMs, toMs: Date.now() },
      });
    },
  );
});
