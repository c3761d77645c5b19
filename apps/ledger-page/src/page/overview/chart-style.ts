// Colours come from the stylesheet, so that they follow the light and the dark.

export const CHART_MARGIN = { top: 6, right: 4, bottom: 0, left: 0 };

export const X_AXIS = { tickLine: false, axisLine: true, minTickGap: 40, height: 20 } as const;
export const Y_AXIS = { tickLine: false, axisLine: false, width: 58, tickCount: 3 } as const;

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

/** The minute of an ISO instant, in the browser's zone. */
export const minuteOf = (at: string): string => clock.format(Date.parse(at));
