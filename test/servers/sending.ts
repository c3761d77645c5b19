import { runCommand, type MillraceProcess } from "../support/millrace-process.ts";
import { post, type Pipeline } from "../support/pipeline.ts";
import { until } from "../support/until.ts";

export const named = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `msg_${name}_${index}`);

export function sendAll(
  { url }: Pick<MillraceProcess, "url">,
  ids: readonly string[],
  over: Partial<Parameters<typeof post>[1]> = {},
) {
  return Promise.all(ids.map((id) => post(url, { id, type: "test.effect", ...over })));
}

export function doctorAgrees({ env }: Pipeline): Promise<string> {
  return until(async () => {
    const { output } = await runCommand(["doctor"], env);
    // Events that a failover failed are failing, and no disagreement.
    const agrees = /^Ledger and queues agree/m.test(output);
    return agrees && !/^BAD(?! +failing )/m.test(output) && output;
  });
}
