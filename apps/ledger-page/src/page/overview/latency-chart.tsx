import type { Activity } from "@millrace/api-contract";
import { Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { durationOf } from "../parts/age.ts";
import { CHART_MARGIN, timeTextOf, X_AXIS, Y_AXIS } from "./chart-style.ts";
import { ChartTip } from "./chart-tip.tsx";

/** The time from an event's record to its end: the median and the slowest twentieth. */
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
        <Line
          dataKey="p95_ms"
          name="p95"
          className="p95"
          {...LINE}
          dot={{ r: 1.5, className: "p95" }}
        />
        <Line
          dataKey="p50_ms"
          name="p50"
          className="p50"
          {...LINE}
          dot={{ r: 1.5, className: "p50" }}
        />
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
