import type { Disagreement } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { disagreementsQuery } from "../api/queries.ts";
import { eventLink } from "../events/list-filter.ts";
import { formatCount } from "../parts/count.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { Age } from "../parts/time.tsx";

/** Whether ledger and queues agree, and what to do where they do not. */
export function Agreement() {
  const { data, error } = useQuery(disagreementsQuery);
  if (error) return <ErrorNote error={error} />;
  if (data === undefined) return <p className="agreement quiet">Comparing ledger and queues…</p>;
  const kinds = data.kinds.filter((kind) => kind.count > 0);
  return (
    <div className="agreement">
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
            <strong>Ledger and queues disagree</strong>. A worker repairs this. Check again in a
            minute.
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

function Kind({ kind }: { kind: Disagreement }) {
  return (
    <>
      <dt>
        {formatCount(kind.count)} × <code>{kind.kind}</code>
      </dt>
      <dd>
        {kind.meaning} {kind.mend}{" "}
        {kind.examples.slice(0, 3).map(({ source, event_id, generation }) => {
          const link = eventLink(source, event_id, generation);
          return (
            <Link key={link} to={link}>
              {event_id}
            </Link>
          );
        })}
      </dd>
    </>
  );
}
