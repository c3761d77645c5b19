import type { Disagreement } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleX } from "lucide-react";
import { Link } from "react-router";
import { disagreementsQuery } from "../api/queries.ts";
import { ErrorNote, PanelBoundary } from "../parts/error-note.tsx";
import { formatCount } from "../parts/format.ts";
import { eventLink } from "../parts/list-filter.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Age } from "../parts/time.tsx";
import { SourcesTable } from "./sources-table.tsx";

export function SourcesPage() {
  return (
    <>
      <PageHead
        title="Sources"
        about="Events by source and status, and the jobs that wait on its queue."
      />
      <PanelBoundary>
        <SourcesTable />
      </PanelBoundary>
      <PanelBoundary>
        <Agreement />
      </PanelBoundary>
    </>
  );
}

function Agreement() {
  const { data, error } = useQuery(disagreementsQuery);
  if (error) return <ErrorNote error={error} />;
  if (data === undefined) return <p className="quiet">Comparing ledger and queues…</p>;
  const kinds = data.kinds.filter((kind) => kind.count > 0);
  return (
    <div>
      {data.not_compared.length > 0 && (
        <p>
          <strong>Not compared</strong>: {data.not_compared.join(", ")}. Redis refuses their queues,
          or does not answer for them. <code>millrace doctor</code> says why.
        </p>
      )}
      {kinds.length === 0 ? (
        <p>
          <CircleCheck /> Ledger and queues agree{" "}
          <span className="quiet">
            · checked <Age at={data.checked_at} />
          </span>
        </p>
      ) : (
        <>
          <p>
            <CircleX /> <strong>Ledger and queues disagree</strong>. A worker repairs what it can.
            Check again in a minute.
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
