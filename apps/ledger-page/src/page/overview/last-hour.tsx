import type { ActivityBucket } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { activityQuery } from "../api/queries.ts";
import { durationOf } from "../parts/age.ts";
import { formatCount } from "../parts/count.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { LatencyChart } from "./latency-chart.tsx";
import { ThroughputChart } from "./throughput-chart.tsx";

/** Throughput and latency of the last hour, a bucket a minute; of one source, if one is shown. */
export default function LastHour({ source }: { source: string | undefined }) {
  const { data, error, refetch } = useQuery(activityQuery(source));
  if (error) {
    return (
      <div className="panel charts">
        <ErrorNote error={error} onRetry={() => void refetch()} />
      </div>
    );
  }
  const buckets = data?.buckets ?? [];
  const of = source === undefined ? "" : ` for ${source}`;
  return (
    <div className="panel charts">
      <figure>
        <figcaption>
          <span>Events per minute{of}, last hour</span>
          <Totals buckets={buckets} />
        </figcaption>
        <ThroughputChart buckets={buckets} />
      </figure>
      <figure>
        <figcaption>
          <span>Time from recorded to settled{of}</span>
          <Latest buckets={buckets} />
        </figcaption>
        <LatencyChart buckets={buckets} />
      </figure>
    </div>
  );
}

function Totals({ buckets }: { buckets: readonly ActivityBucket[] }) {
  const sum = (of: "recorded" | "completed" | "failed") =>
    formatCount(buckets.reduce((total, bucket) => total + bucket[of], 0));
  return (
    <span className="legend">
      <span className="key recorded">{sum("recorded")} recorded</span>
      <span className="key completed">{sum("completed")} completed</span>
      <span className="key failed">{sum("failed")} failed</span>
    </span>
  );
}

function Latest({ buckets }: { buckets: readonly ActivityBucket[] }) {
  const latest = buckets.findLast((bucket) => bucket.p95_ms !== null);
  const text = (ms: number | null | undefined) =>
    ms === null || ms === undefined ? "–" : durationOf(ms);
  return (
    <span className="legend">
      <span className="key p50">p50 {text(latest?.p50_ms)}</span>
      <span className="key p95">p95 {text(latest?.p95_ms)}</span>
    </span>
  );
}
