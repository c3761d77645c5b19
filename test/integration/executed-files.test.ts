import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import config from "../fixtures/executed-files/millrace.config.ts";
import { onRedis } from "../support/backends.ts";
import { freePort } from "../support/free-port.ts";
import { runProgram } from "../support/millrace-process.ts";
import { openForAll } from "../support/open-for.ts";
import { openPipeline } from "../support/pipeline.ts";
import { describeOnRedis } from "../support/redis.ts";

const FIXTURE = new URL("../fixtures/executed-files/", import.meta.url);

describeOnRedis("the product files that run for an event", () => {
  describe.each([
    { groups: "on", attemptMax: 32 },
    { groups: "off", attemptMax: 35 },
  ])("with groups $groups", ({ groups, attemptMax }) => {
    const measured = openForAll(() => {
      const MILLRACE_CONFIG = fileURLToPath(new URL("millrace.config.ts", FIXTURE));
      const env = { MILLRACE_CONFIG, MILLRACE_GROUPS: groups, LOG_LEVEL: "error" };
      return openPipeline(onRedis, { env, config }, async (pipeline) => {
        await pipeline.database.query("CREATE TABLE effects (event_id text)");
        const other = await pipeline.start("ingress");
        const measure = fileURLToPath(new URL("measure.mjs", FIXTURE));
        const { code, output } = await runProgram(process.execPath, [measure], {
          ...pipeline.env,
          INGRESS_PORT: String(await freePort()),
          OTHER_INGRESS_URL: other.url,
          NODE_ENV: "production",
        });
        if (code !== 0) throw new Error(`Cannot measure: ${output}`);
        return { files: JSON.parse(output) as Record<"delivery" | "attempt", string[]> };
      });
    });

    test.each([
      ["a delivery", "delivery", 32],
      ["an attempt", "attempt", attemptMax],
    ] as const)("%s runs a bounded number of them", (_way, way, max) => {
      const files = measured.files[way];
      expect(files.length, files.join("\n")).toBeGreaterThan(0);
      expect(files.length, files.join("\n")).toBeLessThanOrEqual(max);
    });
  });
});
