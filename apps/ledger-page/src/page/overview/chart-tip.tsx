import type { TooltipContentProps } from "recharts";

interface Props extends Partial<TooltipContentProps<number, string>> {
  readonly format: (value: number) => string;
  readonly timeText: (at: string) => string;
}

/** The numbers of the bucket that is pointed at. */
export function ChartTip({ active, payload, label, format, timeText }: Props) {
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
