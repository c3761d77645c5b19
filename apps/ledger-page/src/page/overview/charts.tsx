import type { Activity, ActivityBucket } from "@millrace/api-contract";
import { durationOf } from "@millrace/api-contract/run-text";
import { useState, type PointerEvent } from "react";
import { formatCount } from "../parts/format.ts";
import { MINUTES } from "../parts/time.tsx";
import {
  barPath,
  durationTick,
  durationTopOf,
  stepPath,
  ticksOf,
  topOf,
  type Values,
} from "./axes.ts";

interface Props {
  readonly activity: Activity;
  /** The time from the beginning of one bucket to the end of another. */
  readonly onSelect: (since: string, until: string) => void;
}

/** Events and latencies over one time axis, with one crosshair. Dragging selects a time. */
export function Charts({ activity: { buckets, bucket_seconds: seconds }, onSelect }: Props) {
  const [pointed, setPointed] = useState<number>();
  const [from, setFrom] = useState<number>();
  const first = Date.parse(buckets[0]?.at ?? "");
  const bucketMs = seconds * 1_000;
  const share = (bucket: number) => `${(100 * bucket) / buckets.length}%`;
  const bucketAt = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const bucket = Math.floor(((clientX - left) / width) * buckets.length);
    return Math.min(buckets.length - 1, Math.max(0, bucket));
  };
  const range = [from ?? pointed ?? 0, pointed ?? 0].toSorted((a, b) => a - b);
  const [begin = 0, end = 0] = range;
  const timeAt = (bucket: number) => new Date(first + bucket * bucketMs).toISOString();
  const shown = pointed === undefined ? undefined : buckets[pointed];
  return (
    <div
      className="plots"
      onPointerMove={(event) => setPointed(bucketAt(event))}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setFrom(bucketAt(event));
      }}
      onPointerUp={() => {
        if (from !== undefined) onSelect(timeAt(begin), timeAt(end + 1));
      }}
      onPointerCancel={() => setFrom(undefined)}
      onPointerLeave={() => setPointed(undefined)}
    >
      <Throughput buckets={buckets} />
      <Latency buckets={buckets} />
      <TimeTicks from={buckets[0]?.at} length={buckets.length} seconds={seconds} />
      {from !== undefined && (
        <div
          className="selected"
          style={{ left: share(begin), width: share(end + 1 - begin) }}
          aria-hidden="true"
        />
      )}
      {shown !== undefined && pointed !== undefined && (
        <>
          <div className="crosshair" style={{ left: share(pointed + 0.5) }} aria-hidden="true" />
          <Tip
            bucket={shown}
            place={
              pointed < buckets.length / 2
                ? { left: `calc(${share(pointed + 1)} + 8px)` }
                : { right: `calc(${share(buckets.length - pointed)} + 8px)` }
            }
          />
        </>
      )}
    </div>
  );
}

type PlotProps = Pick<Activity, "buckets">;

function Throughput({ buckets }: PlotProps) {
  const of = (name: "recorded" | "completed" | "failed") => buckets.map((bucket) => bucket[name]);
  const [recorded, completed, failed] = [of("recorded"), of("completed"), of("failed")];
  const ended = completed.map((count, at) => count + (failed[at] ?? 0));
  const top = topOf(Math.max(0, ...recorded, ...ended));
  return (
    <Plot title="Events over time" length={buckets.length} top={top} textOf={formatCount}>
      <path className="completed" d={barPath(completed, [], top)} />
      <path className="failed" d={barPath(failed, completed, top)} />
      <path d={stepPath(recorded, top)} />
    </Plot>
  );
}

function Latency({ buckets }: PlotProps) {
  const of = (name: "p50_ms" | "p95_ms"): Values => buckets.map((bucket) => bucket[name]);
  const [p50, p95] = [of("p50_ms"), of("p95_ms")];
  const top = durationTopOf(Math.max(0, ...p95.map((ms) => ms ?? 0)));
  return (
    <Plot title="Time to settle" length={buckets.length} top={top} textOf={durationTick}>
      <path d={stepPath(p50, top)} />
      <path className="p95" d={stepPath(p95, top)} />
    </Plot>
  );
}

interface PlotFrame {
  readonly title: string;
  readonly length: number;
  readonly top: number;
  readonly textOf: (value: number) => string;
  readonly children: React.ReactNode;
}

export function Plot({ title, length, top, textOf, children }: PlotFrame) {
  return (
    <div className="plot">
      {[0, 0.5, 1].map((height) => (
        <div key={height} className="level" style={{ bottom: `${100 * height}%` }}>
          <span>{textOf(height * top)}</span>
        </div>
      ))}
      <svg viewBox={`0 0 ${length} 100`} preserveAspectRatio="none" role="img" aria-label={title}>
        {children}
      </svg>
    </div>
  );
}

interface TicksProps {
  readonly from: string | undefined;
  readonly length: number;
  readonly seconds: number;
}

export function TimeTicks({ from = "", length, seconds }: TicksProps) {
  const [first, spanMs] = [Date.parse(from), length * seconds * 1_000];
  return ticksOf(first, first + spanMs).map((ms) => (
    <span key={ms} className="tick" style={{ left: `${(100 * (ms - first)) / spanMs}%` }}>
      {tickText(ms)}
    </span>
  ));
}

function Tip({ bucket, place }: { bucket: ActivityBucket; place: React.CSSProperties }) {
  const duration = (ms: number | null) => (ms === null ? "–" : durationOf(ms));
  const rows = [
    ["recorded", formatCount(bucket.recorded)],
    ["completed", formatCount(bucket.completed)],
    ["failed", formatCount(bucket.failed)],
    ["p50", duration(bucket.p50_ms)],
    ["p95", duration(bucket.p95_ms)],
    ["p95, run again", duration(bucket.waited_p95_ms)],
  ] as const;
  return (
    <div className="tip" style={place}>
      <strong>{tipText.format(Date.parse(bucket.at))}</strong>
      <dl>
        {rows.map(([name, text]) => (
          <div key={name}>
            <dt className={`key ${name}`}>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

export function Sparkline({ buckets, label }: PlotProps & { label: string }) {
  const completed = buckets.map((bucket) => bucket.completed);
  const failed = buckets.map((bucket) => bucket.failed);
  const top = Math.max(1, ...completed.map((count, at) => count + (failed[at] ?? 0)));
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${buckets.length} 100`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path className="completed" d={barPath(completed, [], top)} />
      <path className="failed" d={barPath(failed, completed, top)} />
    </svg>
  );
}

const DAY = { day: "numeric", month: "short" } as const;
const clock = new Intl.DateTimeFormat(undefined, MINUTES);
const day = new Intl.DateTimeFormat(undefined, DAY);
const tipText = new Intl.DateTimeFormat(undefined, { ...DAY, ...MINUTES });

function tickText(ms: number): string {
  const time = clock.format(ms);
  return time === "00:00" ? day.format(ms) : time;
}
