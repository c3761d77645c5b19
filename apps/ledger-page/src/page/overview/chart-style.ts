// Colours come from the stylesheet, so that they follow the light and the dark.

export const CHART_MARGIN = { top: 6, right: 4, bottom: 0, left: 0 };

export const X_AXIS = { tickLine: false, axisLine: true, minTickGap: 40, height: 20 } as const;
export const Y_AXIS = { tickLine: false, axisLine: false, width: 58, tickCount: 3 } as const;

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const HOUR_SECONDS = 3_600;

/** Formats an ISO instant in the browser's zone, with its day for buckets of an hour or more. */
export const timeTextOf =
  (bucketSeconds: number) =>
  (at: string): string => {
    const time = clock.format(Date.parse(at));
    return bucketSeconds < HOUR_SECONDS ? time : `${day.format(Date.parse(at))}, ${time}`;
  };
