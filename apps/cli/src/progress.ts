import { Presets, SingleBar } from "cli-progress";
import type { Output } from "./context.ts";

/** Shows on one line of a terminal what runs; an empty text clears it. */
export const createStatus = (on: Output) => (doing: string) => {
  if (on.isTTY === true) on.write(`\r\u001b[K${doing}`);
};

export function createProgress(total: number, on: Output) {
  if (on.isTTY !== true || total < 2) return { reach(_done: number) {}, stop() {} };
  const bar = new SingleBar(
    {
      format: "{bar} {value}/{total} | {rate}/s | {eta_formatted} left",
      stream: on as NodeJS.WriteStream,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  const startedAt = performance.now();
  bar.start(total, 0, { rate: 0 });
  const reach = (done: number) => {
    const seconds = (performance.now() - startedAt) / 1_000;
    bar.update(done, { rate: Math.round(done / seconds) });
  };
  return { reach, stop: () => bar.stop() };
}
