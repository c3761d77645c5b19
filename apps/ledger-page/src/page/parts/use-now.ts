import { useSyncExternalStore } from "react";
import { serverNowMs } from "../api/server-clock.ts";

// One clock for every age on the page. It stands while nobody looks.
const TICK_MS = 1_000;
const listeners = new Set<() => void>();
let nowMs = serverNowMs();
let timer: number | undefined;

function tick(): void {
  if (document.hidden) return;
  nowMs = serverNowMs();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(tick, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

/** Something made of the present time, in milliseconds; renders anew when it has changed. */
export function useNow<T extends string | number>(of: (nowMs: number) => T): T {
  return useSyncExternalStore(subscribe, () => of(nowMs));
}
