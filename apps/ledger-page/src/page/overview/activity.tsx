import type { ActivityBucket } from "@millrace/api-contract";
import { durationOf } from "@millrace/api-contract/run-text";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { activityQuery, type ActivityRange } from "../api/queries.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { formatCount } from "../parts/format.ts";
import type { ListFilter } from "../parts/list-filter.ts";
import { Time } from "../parts/time.tsx";
import { LatencyChart, ThroughputChart } from "./charts.tsx";

const RANGES = {
  "1h": { label: "Last hour", per: "minute" },
  "24h": { label: "Last 24 hours", per: "10 minutes" },
  "7d": { label: "Last 7 days", per: "hour" },
  "30d": { label: "Last 30 days", per: "4 hours" },
} as const satisfies Record<ActivityRange, object>;
/** A worker counts every minute. */
const BEHIND_MS = 5 * 60_000;

export default function Activity({ filter: { source, type } }: { filter: ListFilter }) {
  const [range, setRange] = useState<ActivityRange>("1h");
  const { data, error, refetch } = useQuery(activityQuery({ source, type, range }));
  const of = [source, type].filter((name) => name !== undefined).join(" ");
  const suffix = of === "" ? "" : ` for ${of}`;
  return (
    <div className="panel charts">
      <label className="field range">
        <span>Time range of the charts</span>
        <select value={range} onChange={(event) => setRange(event.target.value as ActivityRange)}>
          {Object.entries(RANGES).map(([key, { label }]) => (
            <option key={key} value={key}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined && !error && (
        <p className="quiet" role="status">
          Reading the {RANGES[range].label.toLowerCase()}…
        </p>
      )}
      {data !== undefined && !error && (
        <>
          <CountedUntil at={data.counted_until} />
          <figure>
            <figcaption>
              <span>
                Events per {RANGES[range].per}
                {suffix}
              </span>
              <Totals buckets={data.buckets} />
            </figcaption>
            <ThroughputChart activity={data} />
          </figure>
          <figure>
            <figcaption>
              <span>Time from recorded to settled{suffix}</span>
              <Latest buckets={data.buckets} />
            </figcaption>
            <LatencyChart activity={data} />
          </figure>
        </>
      )}
    </div>
  );
}

function CountedUntil({ at }: { at: string | null }) {
  if (at === null) return <p className="warn">Not counted yet. A worker counts every minute.</p>;
  if (Date.parse(at) > Date.now() - BEHIND_MS) return null;
  return (
    <p className="warn">
      Counted until <Time at={at} />. A worker counts every minute.
    </p>
  );
}

function Totals({ buckets }: { buckets: readonly ActivityBucket[] }) {
  const sum = (of: "recorded" | "completed" | "failed") =>
    buckets.reduce((total, bucket) => total + bucket[of], 0);
  const [completed, failed] = [sum("completed"), sum("failed")];
  return (
    <span className="legend">
      <span className="key recorded">{formatCount(sum("recorded"))} recorded</span>
      <span className="key completed">{formatCount(completed)} completed</span>
      <span className="key failed">
        {formatCount(failed)} failed
        {failed > 0 && ` (${percent.format(failed / (completed + failed))})`}
      </span>
    </span>
  );
}

const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumSignificantDigits: 2 });

function Latest({ buckets }: { buckets: readonly ActivityBucket[] }) {
  const latest = buckets.findLast((bucket) => bucket.p95_ms !== null);
  const waited = buckets.findLast((bucket) => bucket.waited_p95_ms !== null);
  const text = (ms: number | null | undefined) =>
    ms === null || ms === undefined ? "–" : durationOf(ms);
  return (
    <span className="legend">
      <span className="key p50">latest p50 {text(latest?.p50_ms)}</span>
      <span className="key p95">p95 {text(latest?.p95_ms)}</span>
      {waited !== undefined && <span>retried or replayed: p95 {text(waited.waited_p95_ms)}</span>}
    </span>
  );
}
