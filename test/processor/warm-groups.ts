import { on, type EventJob, type HandlerFunction } from "@millrace/core";
import { effect, makeJob, type Options, type TestProcessors } from "./processor-fixture.ts";

/** A job of an event that nobody has attempted. */
export const fresh = (over: Parameters<typeof makeJob>[0] = {}) =>
  makeJob({ startedBefore: false, ...over });

/** A processor whose type has had calm runs enough for groups. Its handler leaves an effect, and does `run`. */
export async function warmGroups(
  processors: TestProcessors,
  run: HandlerFunction,
  options: Options = {},
) {
  const handler: HandlerFunction = async (event, context) => {
    if (event.headers["x-calm"] || options.effect !== false) await effect(event, context);
    if (!event.headers["x-calm"]) await run(event, context);
  };
  const processor = processors.create([on("shop", "*", handler)], { ...options, groups: true });
  const together = (jobs: readonly EventJob[]) =>
    Promise.all(jobs.map((job) => processor.process(job)));
  const groups = () =>
    processor.notices.filter((notice) => notice.kind === "group_ended").map(({ size }) => size);
  // A busy machine makes a type look slow for a while.
  for (let round = 0; (groups().at(-1) ?? 0) < 16; round += 1) {
    if (round > 300) throw new Error(`No group of 16 was formed: ${groups().join()}`);
    await together(Array.from({ length: 32 }, () => fresh({ headers: { "x-calm": "1" } })));
  }
  return { processor, together, groups };
}
