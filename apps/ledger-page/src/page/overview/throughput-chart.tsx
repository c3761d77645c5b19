import type { Activity } from "@millrace/api-contract";
import { Bar, ComposedChart, Line, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { formatCount } from "../parts/count.ts";
import { CHART_MARGIN, timeTextOf, X_AXIS, Y_AXIS } from "./chart-style.ts";
import { ChartTip } from "./chart-tip.tsx";

/** Settled events as stacked bars, and recorded events as a line. */
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
