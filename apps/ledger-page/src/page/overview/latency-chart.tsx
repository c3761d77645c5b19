import { Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import type { ActivityBucket } from "../api/types.ts";
import { durationOf } from "../parts/age.ts";
import { CHART_MARGIN, minuteOf, X_AXIS, Y_AXIS } from "./chart-style.ts";
import { ChartTip } from "./chart-tip.tsx";

/** How long events took from their record to their end, the median and the slowest twentieth. */
export function LatencyChart({ buckets }: { buckets: readonly ActivityBucket[] }) {
  return (
    <ResponsiveContainer width="100%" height={110}>
      <LineChart data={[...buckets]} margin={CHART_MARGIN} title="From recorded to settled">
        <XAxis dataKey="at" tickFormatter={minuteOf} {...X_AXIS} />
        <YAxis tickFormatter={durationOf} {...Y_AXIS} />
        <Tooltip content={<ChartTip format={durationOf} />} isAnimationActive={false} />
        <Line dataKey="p95_ms" name="95 %" className="p95" {...LINE} />
        <Line dataKey="p50_ms" name="median" className="p50" {...LINE} />
      </LineChart>
    </ResponsiveContainer>
  );
}

// A minute in which nothing settled is bridged; one alone between two of them is a dot.
const LINE = {
  type: "monotone",
  dot: false,
  connectNulls: true,
  isAnimationActive: false,
} as const;
