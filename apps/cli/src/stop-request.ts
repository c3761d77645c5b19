import type { CliContext } from "./context.ts";

/** One press of Ctrl-C reaches us twice under npm: from the terminal, and passed on by npm. */
const SAME_PRESS_MS = 400;

/** Aborts and resolves with the first Ctrl-C, SIGTERM or SIGHUP; a second calls `atOnce`. */
export function onStopRequest(
  context: Pick<CliContext, "onStopSignal">,
  atOnce: () => void,
): { signal: AbortSignal; requested: Promise<void>; dispose(): void } {
  const stop = new AbortController();
  let firstAt = 0;
  const requested = new Promise<void>((resolve) => {
    stop.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const dispose = context.onStopSignal(() => {
    if (!stop.signal.aborted) {
      firstAt = performance.now();
      stop.abort();
    } else if (performance.now() - firstAt > SAME_PRESS_MS) {
      atOnce();
    }
  });
  return { signal: stop.signal, requested, dispose };
}
