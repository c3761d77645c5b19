import type { Disagreement, Stats } from "@millrace/api-contract";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link } from "react-router";
import { disagreementsQuery } from "../api/queries.ts";
import { ErrorNote, PanelBoundary } from "../parts/error-note.tsx";
import { formatCount } from "../parts/format.ts";
import { eventLink, type ListFilter } from "../parts/list-filter.ts";
import { Age } from "../parts/time.tsx";
import { SourcesTable } from "./sources-table.tsx";

// The charts are most of the script, and the list need not wait for them.
const Activity = lazy(() => import("./activity.tsx"));

export function Overview({ filter, stats }: { filter: ListFilter; stats: UseQueryResult<Stats> }) {
  return (
    <section className="overview" aria-labelledby="overview">
      <h2 id="overview" className="hidden">
        Overview
      </h2>
      <div className="panel sources">
        {stats.error && <ErrorNote error={stats.error} onRetry={() => void stats.refetch()} />}
        {stats.isPending && <p className="quiet">Counting events…</p>}
        <PanelBoundary>
          {stats.data && <SourcesTable filter={filter} stats={stats.data} />}
        </PanelBoundary>
        <PanelBoundary>
          <Agreement />
        </PanelBoundary>
      </div>
      <PanelBoundary>
        <Suspense fallback={<div className="panel charts quiet">Reading the last hour…</div>}>
          <Activity filter={filter} />
        </Suspense>
      </PanelBoundary>
    </section>
  );
}

function Agreement() {
  const { data, error } = useQuery(disagreementsQuery);
  if (error) return <ErrorNote error={error} />;
  if (data === undefined) return <p className="agreement quiet">Comparing ledger and queues…</p>;
  const kinds = data.kinds.filter((kind) => kind.count > 0);
  return (
    <div className="agreement">
      {data.not_compared.length > 0 && (
        <p>
          <strong>Not compared</strong>: {data.not_compared.join(", ")}. Redis refuses their queues,
          or does not answer for them. <code>millrace doctor</code> says why.
        </p>
      )}
      {kinds.length === 0 ? (
        <p>
          <span className="sign completed" aria-hidden="true">
            ✓
          </span>{" "}
          Ledger and queues agree{" "}
          <span className="quiet">
            · checked <Age at={data.checked_at} />
          </span>
        </p>
      ) : (
        <>
          <p>
            <span className="sign failed" aria-hidden="true">
              ✕
            </span>{" "}
            <strong>Ledger and queues disagree</strong>. A worker repairs what it can. Check again
            in a minute.
          </p>
          <dl className="kinds">
            {kinds.map((kind) => (
              <Kind key={kind.kind} kind={kind} />
            ))}
          </dl>
        </>
      )}
    </div>
  );
}

function Example({ example }: { example: Disagreement["examples"][number] }) {
  const { source, event_id, generation, job_id, detail } = example;
  if (event_id !== null) {
    return <Link to={eventLink(source, event_id, generation ?? 0)}>{event_id}</Link>;
  }
  return (
    <span>
      <code>{job_id}</code> of {source}: {detail}
    </span>
  );
}

function Kind({ kind }: { kind: Disagreement }) {
  return (
    <>
      <dt>
        {formatCount(kind.count)} × <code>{kind.kind}</code>
      </dt>
      <dd>
        {kind.meaning} {kind.fix}{" "}
        {kind.examples.slice(0, 3).map((example) => (
          <Example key={JSON.stringify(example)} example={example} />
        ))}
      </dd>
    </>
  );
}
