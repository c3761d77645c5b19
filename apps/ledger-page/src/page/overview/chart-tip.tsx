import type { TooltipContentProps } from "recharts";
import { minuteOf } from "./chart-style.ts";

interface Props extends Partial<TooltipContentProps<number, string>> {
  readonly format: (value: number) => string;
}

/** The numbers of the minute that is pointed at. */
export function ChartTip({ active, payload, label, format }: Props) {
  if (active !== true || payload === undefined || payload.length === 0) return null;
  return (
    <div className="tip">
      <strong>{minuteOf(String(label))}</strong>
      {payload.map(({ name, value }) => (
        <div key={String(name)}>
          {String(name)}: {typeof value === "number" ? format(value) : "–"}
        </div>
      ))}
    </div>
  );
}
