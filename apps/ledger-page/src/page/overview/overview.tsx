import type { Stats } from "@millrace/api-contract";
import type { UseQueryResult } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import type { List } from "../events/use-list.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { PanelBoundary } from "../parts/panel-boundary.tsx";
import { Agreement } from "./agreement.tsx";
import { SourcesTable } from "./sources-table.tsx";

// The charts are most of the script, and the list need not wait for them.
const Activity = lazy(() => import("./activity.tsx"));

/** Counts by source and status, the last hour or month, and disagreements of ledger and queues. */
export function Overview({ list, stats }: { list: List; stats: UseQueryResult<Stats> }) {
  return (
    <section className="overview" aria-labelledby="overview">
      <h2 id="overview" className="hidden">
        Overview
      </h2>
      <div className="panel sources">
        {stats.error && <ErrorNote error={stats.error} onRetry={() => void stats.refetch()} />}
        {stats.isPending && <p className="quiet">Counting events…</p>}
        <PanelBoundary>
          {stats.data && <SourcesTable list={list} stats={stats.data} />}
        </PanelBoundary>
        <PanelBoundary>
          <Agreement />
        </PanelBoundary>
      </div>
      <PanelBoundary>
        <Suspense fallback={<div className="panel charts quiet">Reading the last hour…</div>}>
          <Activity filter={list.filter} />
        </Suspense>
      </PanelBoundary>
    </section>
  );
}
