import type { Activity } from "@millrace/api-contract";
import { durationOf } from "@millrace/api-contract/run-text";
import {
  Bar,
  ComposedChart,
  Line,
  LineChart,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
  type TooltipContentProps,
} from "recharts";
import { formatCount } from "../parts/format.ts";

export function ThroughputChart({ activity }: { activity: Activity }) {
  const timeText = timeTextOf(activity.bucket_seconds);
  return (
    <ResponsiveContainer width="100%" height={132}>
      <ComposedChart
        data={[...activity.buckets]}
        margin={CHART_MARGIN}
        barCategoryGap={1}
        title="Events over time"
      >
        <XAxis dataKey="at" tickFormatter={timeText} {...X_AXIS} />
        <YAxis allowDecimals={false} tickFormatter={formatCount} {...Y_AXIS} />
        <Tooltip
          content={<ChartTip format={formatCount} timeText={timeText} />}
          isAnimationActive={false}
        />
        <Bar
          dataKey="completed"
          stackId="settled"
          className="completed"
          isAnimationActive={false}
        />
        <Bar dataKey="failed" stackId="settled" className="failed" isAnimationActive={false} />
        <Line
          dataKey="recorded"
          type="step"
          className="recorded"
          dot={false}
          isAnimationActive={false}
        />
      </ComposedChart>
    </ResponsiveContainer>
  );
}

export function LatencyChart({ activity }: { activity: Activity }) {
  const timeText = timeTextOf(activity.bucket_seconds);
  return (
    <ResponsiveContainer width="100%" height={132}>
      <LineChart
        data={[...activity.buckets]}
        margin={CHART_MARGIN}
        title="Time from recorded to settled"
      >
        <XAxis dataKey="at" tickFormatter={timeText} {...X_AXIS} />
        <YAxis tickFormatter={durationOf} {...Y_AXIS} />
        <Tooltip
          content={<ChartTip format={durationOf} timeText={timeText} />}
          isAnimationActive={false}
        />
        {["p95", "p50"].map((name) => (
          <Line
            key={name}
            dataKey={`${name}_ms`}
            {...{ name, className: name, dot: { r: 1.5, className: name } }}
            {...LINE}
          />
        ))}
      </LineChart>
    </ResponsiveContainer>
  );
}

// Nothing is drawn where nothing settled; a bucket between two such ones is a dot.
const LINE = {
  type: "monotone",
  connectNulls: false,
  isAnimationActive: false,
} as const;

interface ChartTipProps extends Partial<TooltipContentProps<number, string>> {
  readonly format: (value: number) => string;
  readonly timeText: (at: string) => string;
}

function ChartTip({ active, payload, label, format, timeText }: ChartTipProps) {
  if (active !== true || payload === undefined || payload.length === 0) return null;
  return (
    <div className="tip">
      <strong>{timeText(String(label))}</strong>
      {payload.map(({ name, value }) => (
        <div key={String(name)}>
          {String(name)}: {typeof value === "number" ? format(value) : "–"}
        </div>
      ))}
    </div>
  );
}

// Colours come from the stylesheet, so that they follow the light and the dark.

const CHART_MARGIN = { top: 6, right: 4, bottom: 0, left: 0 };

const X_AXIS = { tickLine: false, axisLine: true, minTickGap: 40, height: 20 } as const;
const Y_AXIS = { tickLine: false, axisLine: false, width: 58, tickCount: 3 } as const;

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const HOUR_SECONDS = 3_600;

/** With the day for buckets of an hour or more. */
const timeTextOf =
  (bucketSeconds: number) =>
  (at: string): string => {
    const time = clock.format(Date.parse(at));
    return bucketSeconds < HOUR_SECONDS ? time : `${day.format(Date.parse(at))}, ${time}`;
  };
