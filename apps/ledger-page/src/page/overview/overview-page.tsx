import type { ActivityBucket } from "@millrace/api-contract";
import { durationOf } from "@millrace/api-contract/run-text";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";
import { activityQuery, healthQuery, type ActivityRange } from "../api/queries.ts";
import { serverNowMs } from "../api/request.ts";
import { ErrorNote, PanelBoundary } from "../parts/notice.tsx";
import { SelectField, useUrlFields } from "../parts/filters.tsx";
import { formatCount, formatShare } from "../parts/format.ts";
import { PageHead } from "../parts/panel.tsx";
import { Age } from "../parts/time.tsx";
import { Charts } from "./charts.tsx";
import { SourcesTable } from "./sources-table.tsx";

const RANGES = {
  "1h": { label: "Last hour", per: "minute" },
  "24h": { label: "Last 24 hours", per: "10 minutes" },
  "7d": { label: "Last 7 days", per: "hour" },
  "30d": { label: "Last 30 days", per: "4 hours" },
} as const satisfies Record<ActivityRange, object>;
/** A worker counts every minute. */
const BEHIND_MS = 5 * 60_000;

export function OverviewPage() {
  const { given, field } = useUrlFields("cursor");
  const asked = given("range") ?? "1h";
  const range = Object.hasOwn(RANGES, asked) ? (asked as ActivityRange) : "1h";
  return (
    <>
      <PageHead title="Overview">
        <SelectField
          label="Time range of the charts"
          options={Object.keys(RANGES)}
          textOf={(key) => RANGES[key as ActivityRange].label}
          {...field("range")}
          value={range}
        />
      </PageHead>
      <Numbers />
      <PanelBoundary>
        <Activity range={range} />
      </PanelBoundary>
      <PanelBoundary>
        <SourcesTable />
      </PanelBoundary>
    </>
  );
}

const MINUTES_NOW = 10;

function Numbers() {
  const { data: health } = useQuery(healthQuery);
  const { data: hour } = useQuery(activityQuery({ range: "1h" }));
  const { recent_failed: failed, recent_events: events } = health ?? {};
  const isKnown = typeof failed === "number" && typeof events === "number";
  const p95 = hour?.buckets
    .slice(-MINUTES_NOW)
    .findLast((bucket) => bucket.p95_ms !== null)?.p95_ms;
  const waits = health?.oldest_waiting_ms;
  const open = health?.open_errors;
  const share = isKnown && events > 0 ? formatShare(failed / events) : undefined;
  const counted = isKnown && `${formatCount(failed)} of ${formatCount(events)} events`;
  const waiting = waits === 0 ? "none" : textOf(waits, durationOf);
  const slowest = textOf(p95, durationOf);
  const errors = textOf(open, formatCount);
  const numbers = [
    ["/events?status=failed&last=15m", `Failed, last ${MINUTES_NOW} min`, share, counted],
    ["/events?status=pending&order=asc", "Oldest waiting", waiting, "for its first attempt"],
    ["/events?last=15m", "p95, recorded to settled", slowest, "last minute that settled any"],
    ["/errors", "Open errors", errors, "groups of equal failures"],
  ] as const;
  const bad = [(failed ?? 0) > 0, false, false, (open ?? 0) > 0];
  return (
    <nav className="numbers" aria-label="Numbers of now">
      {numbers.map(([to, name, value = "–", about], place) => (
        <Link key={name} to={to} className={bad[place] ? "bad" : ""}>
          <span className="quiet">{name}</span> <strong>{value}</strong>{" "}
          <span className="quiet">{about}</span>
        </Link>
      ))}
    </nav>
  );
}

const textOf = (value: number | null | undefined, format: (value: number) => string) =>
  typeof value === "number" ? format(value) : undefined;

const sumOf = (
  buckets: readonly ActivityBucket[] | undefined,
  of: "recorded" | "completed" | "failed",
): number => (buckets ?? []).reduce((total, bucket) => total + bucket[of], 0);

function Activity({ range }: { range: ActivityRange }) {
  const { data, error, refetch } = useQuery(activityQuery({ range }));
  const navigate = useNavigate();
  const { label, per } = RANGES[range];
  const failed = sumOf(data?.buckets, "failed");
  const completed = sumOf(data?.buckets, "completed");
  return (
    <figure className="panel charts">
      <figcaption>
        <span>Events per {per}, and time from recorded to settled</span>
        {data !== undefined && (
          <span className="legend">
            <span className="key recorded">
              {formatCount(sumOf(data.buckets, "recorded"))} recorded
            </span>
            <span className="key completed">{formatCount(completed)} completed</span>
            <span className="key failed">
              {formatCount(failed)} failed
              {failed > 0 && ` (${formatShare(failed / (completed + failed))})`}
            </span>
            <span className="key p50">p50</span>
            <span className="key p95">p95</span>
          </span>
        )}
      </figcaption>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined && !error && (
        <p className="quiet" role="status">
          Reading the {label.toLowerCase()}…
        </p>
      )}
      {data !== undefined && !error && (
        <>
          <CountedUntil at={data.counted_until} />
          {data.buckets.length > 0 && (
            <Charts
              activity={data}
              onSelect={(since, until) =>
                void navigate(`/events?${new URLSearchParams({ since, until })}`)
              }
            />
          )}
        </>
      )}
    </figure>
  );
}

function CountedUntil({ at }: { at: string | null }) {
  if (at === null) return <p className="warn">Not counted yet. A worker counts every minute.</p>;
  if (Date.parse(at) > serverNowMs() - BEHIND_MS) return null;
  return (
    <p className="warn">
      Counted until <Age at={at} />. A worker counts every minute.
    </p>
  );
}
