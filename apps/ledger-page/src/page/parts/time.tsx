import { useSyncExternalStore } from "react";
import { serverNowMs } from "../api/request.ts";
import { ageOf } from "./format.ts";

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const whole = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  timeZoneName: "short",
  hourCycle: "h23",
});

export function Time({ at }: { at: string }) {
  const ms = Date.parse(at);
  const age = useNow((now) => ageOf(ms, now));
  const isToday = useNow((now) => Number(sameDay(now, ms))) === 1;
  return (
    <time dateTime={at} title={exact(at)}>
      {age} <span className="quiet">{isToday ? clock.format(ms) : day.format(ms)}</span>
    </time>
  );
}

interface At {
  readonly at: string;
}

/** An instant as how long ago it was; `ExactTime` has the date and the milliseconds too. */
export const Age = ({ at }: At) => <Relative at={at} textOf={agoOf} />;
export const ExactTime = ({ at }: At) => <Relative at={at} textOf={agoOf} isExact />;

/** An instant to come as how long it is until then; `ExactDue` has the date too. */
export const Due = ({ at }: At) => <Relative at={at} textOf={leftOf} />;
export const ExactDue = ({ at }: At) => <Relative at={at} textOf={leftOf} isExact />;

interface RelativeProps extends At {
  readonly textOf: (ms: number, nowMs: number) => string;
  readonly isExact?: boolean;
}

function Relative({ at, textOf, isExact = false }: RelativeProps) {
  const text = useNow((now) => textOf(Date.parse(at), now));
  return (
    <time dateTime={at} title={isExact ? at : exact(at)}>
      {isExact && `${exact(at)} `}
      {isExact ? <span className="quiet">{text}</span> : text}
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

const exact = (at: string): string => whole.format(Date.parse(at));
const sameDay = (a: number, b: number): boolean =>
  new Date(a).toDateString() === new Date(b).toDateString();

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

function useNow<T extends string | number>(of: (nowMs: number) => T): T {
  return useSyncExternalStore(subscribe, () => of(nowMs));
}
