import { useSyncExternalStore } from "react";
import { serverNowMs } from "../api/request.ts";
import { ageOf } from "./format.ts";

export const MINUTES = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const EXACT = { ...MINUTES, second: "2-digit", fractionalSecondDigits: 3 } as const;
const clock = new Intl.DateTimeFormat(undefined, EXACT);
const whole = new Intl.DateTimeFormat(undefined, {
  ...{ year: "numeric", month: "short", day: "numeric" },
  ...EXACT,
  timeZoneName: "short",
});

interface At {
  readonly at: string;
}

/** An instant as how long ago it was; `ExactTime` has the time of the day too. */
export const Age = ({ at }: At) => <Relative at={at} textOf={agoOf} />;
export const ExactTime = ({ at }: At) => <Relative at={at} textOf={agoOf} isExact />;

/** An instant to come as how long it is until then. */
export const Due = ({ at }: At) => <Relative at={at} textOf={leftOf} />;

interface RelativeProps extends At {
  readonly textOf: (ms: number, nowMs: number) => string;
  readonly isExact?: boolean;
}

function Relative({ at, textOf, isExact = false }: RelativeProps) {
  const text = useSyncExternalStore(subscribe, () => textOf(Date.parse(at), nowMs));
  return (
    <time dateTime={at} title={whole.format(Date.parse(at))}>
      {text}
      {isExact && <span className="quiet"> · {clock.format(Date.parse(at))}</span>}
    </time>
  );
}

function leftOf(ms: number, nowMs: number): string {
  const left = ageOf(nowMs, ms);
  return left === "now" ? left : `in ${left}`;
}

function agoOf(ms: number, nowMs: number): string {
  const age = ageOf(ms, nowMs);
  return age === "now" ? age : `${age} ago`;
}

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
