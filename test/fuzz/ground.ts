import { fixtureEnvironment } from "../bad-input/environment.ts";
import config from "../bad-input/fixture/millrace.config.ts";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { createPipeline, type Pipeline } from "../support/pipeline.ts";

/** An ingress on Postgres alone, in a process of its own: its ledger shows every byte it took. */
export async function startGround(
  databaseUrl: string,
): Promise<{ pipeline: Pipeline; ingress: MillraceProcess }> {
  const pipeline = await createPipeline({ databaseUrl }, fixtureEnvironment(), config);
  return { pipeline, ingress: await pipeline.start("ingress") };
}
