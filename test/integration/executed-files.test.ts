import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import config from "../fixtures/executed-files/millrace.config.ts";
import { onRedis, type TestServers } from "../support/backends.ts";
import { freePort } from "../support/free-port.ts";
import { spawnProgram } from "../support/millrace-process.ts";
import { createPipeline, type Pipeline } from "../support/pipeline.ts";
import { describeOnRedis } from "../support/redis.ts";

const FIXTURE = new URL("../fixtures/executed-files/", import.meta.url);

describeOnRedis("the product files that run for an event", () => {
  describe.each([
    { groups: "on", attemptMax: 32 },
    { groups: "off", attemptMax: 35 },
  ])("with groups $groups", ({ groups, attemptMax }) => {
    let servers: TestServers;
    let pipeline: Pipeline;
    let files: { delivery: string[]; attempt: string[] };

    beforeAll(async () => {
      servers = await onRedis();
      const MILLRACE_CONFIG = fileURLToPath(new URL("millrace.config.ts", FIXTURE));
      const over = { MILLRACE_CONFIG, MILLRACE_GROUPS: groups, LOG_LEVEL: "error" };
      pipeline = await createPipeline(servers, over, config);
      await pipeline.database.query("CREATE TABLE effects (event_id text)");
      const other = await pipeline.start("ingress");
      const measure = spawnProgram(
        process.execPath,
        [fileURLToPath(new URL("measure.mjs", FIXTURE))],
        {
          ...pipeline.env,
          INGRESS_PORT: String(await freePort()),
          OTHER_INGRESS_URL: other.url,
          NODE_ENV: "production",
        },
      );
      const output: string[] = [];
      for (const stream of [measure.stdout, measure.stderr]) {
        stream?.on("data", (data: Buffer) => output.push(data.toString()));
      }
      const [code] = await once(measure, "close");
      if (code !== 0) throw new Error(`Cannot measure: ${output.join("")}`);
      files = JSON.parse(output.join(""));
    });
    afterAll(async () => {
      await pipeline?.stop();
      await servers?.release();
    });

    test.each([
      ["a delivery", "delivery", 32],
      ["an attempt", "attempt", attemptMax],
    ] as const)("%s runs a bounded number of them", (_way, way, max) => {
      expect(files[way].length, files[way].join("\n")).toBeGreaterThan(0);
      expect(files[way].length, files[way].join("\n")).toBeLessThanOrEqual(max);
    });
  });
});
