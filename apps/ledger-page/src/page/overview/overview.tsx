import type { Stats } from "@millrace/api-contract";
import type { UseQueryResult } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import type { List } from "../events/use-list.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { Agreement } from "./agreement.tsx";
import { SourcesTable } from "./sources-table.tsx";

// The charts are most of the script, and the list need not wait for them.
const LastHour = lazy(() => import("./last-hour.tsx"));

/** What goes on: counts by source and status, the last hour, and whether ledger and queues agree. */
export function Overview({ list, stats }: { list: List; stats: UseQueryResult<Stats> }) {
  return (
    <section className="overview" aria-labelledby="overview">
      <h2 id="overview" className="hidden">
        Overview
      </h2>
      <div className="panel sources">
        {stats.error && <ErrorNote error={stats.error} onRetry={() => void stats.refetch()} />}
        {stats.data && <SourcesTable list={list} stats={stats.data} />}
        <Agreement />
      </div>
      <Suspense fallback={<div className="panel charts" />}>
        <LastHour source={list.filter.source} />
      </Suspense>
    </section>
  );
}
