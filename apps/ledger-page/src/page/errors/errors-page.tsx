import type { ERROR_STATES as ErrorStates, ErrorGroup } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { errorsQuery } from "../api/queries.ts";
import { DataTable, Pager, type Column } from "../parts/data-table.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { Filters, SelectField, SourceFilter, TextFilter, useUrlFields } from "../parts/filters.tsx";
import { countOf } from "../parts/format.ts";
import { eventLink, writeFilter, type ListFilter } from "../parts/list-filter.ts";
import { Age, Time } from "../parts/time.tsx";
import { useTitle } from "../parts/use-title.ts";
import { BulkDialog } from "../runs/bulk-dialog.tsx";
import { useMayWrite } from "../session/session.ts";
import { request } from "../api/request.ts";
import { ReasonDialog } from "../parts/dialog.tsx";
import { notify } from "../parts/notice.tsx";

const STATES: typeof ErrorStates = ["open", "resolved", "ignored"];
/** In the URL. Without a state, open errors are shown. */
const ALL = "all";
const PAGE = 50;

export function ErrorsPage() {
  useTitle("Errors");
  const { given, change } = useUrlFields("offset");
  const state = given("state") ?? "open";
  const offset = Number(given("offset") ?? 0) || 0;
  const asked = {
    ...{ source: given("source"), q: given("q"), offset: String(offset), limit: String(PAGE) },
    ...(state === ALL ? {} : { state: state as ErrorGroup["state"] }),
  };
  const errors = useQuery(errorsQuery(asked));
  const { data, error } = errors;
  return (
    <section className="list">
      <h1>Errors</h1>
      <p className="quiet">
        Failed attempts, a row for all with the same error. What varies in it, such as ids and
        numbers, does not count.
      </p>
      <Filters label="Errors">
        <SelectField
          label="State"
          value={state === ALL ? undefined : state}
          any="All states"
          options={STATES}
          onChange={(value) => change("state", value === "" ? ALL : value)}
        />
        <SourceFilter value={asked.source} onChange={(value) => change("source", value)} />
        <TextFilter
          label="Text"
          placeholder="violates"
          value={asked.q ?? ""}
          onChange={(value, replace) => change("q", value, replace)}
        />
      </Filters>
      {error && <ErrorNote error={error} onRetry={() => void errors.refetch()} />}
      <p role="status" className="quiet">
        {data === undefined && error === null && "Loading…"}
        {data !== undefined && data.total > 0 && countOf(data.total, "error")}
      </p>
      {data?.total === 0 && (
        <div className="empty">
          <h2>No {state === ALL ? "" : state} errors</h2>
          <p>Errors of handlers are gathered here, with the events that they failed.</p>
        </div>
      )}
      <DataTable
        caption="Errors, last seen first"
        columns={columnsOf(asked.source)}
        rows={data?.errors}
        keyOf={({ fingerprint }) => fingerprint}
        classOf={({ failed }) => (failed > 0 ? "failed" : "")}
      />
      {data !== undefined && data.total > PAGE && (
        <Pager
          steps={{
            "← Newer": offset > 0 && (() => change("offset", String(Math.max(0, offset - PAGE)))),
            "Older →":
              offset + PAGE < data.total && (() => change("offset", String(offset + PAGE))),
          }}
        />
      )}
    </section>
  );
}

/** The events of one source are counted and retried, or of all. */
const columnsOf = (source: string | undefined): Column<ErrorGroup>[] => [
  { id: "title", header: "Error", cell: (error) => <Title error={error} /> },
  {
    id: "failed",
    header: "Failed",
    cell: (error) => <EventsOf error={error} status="failed" source={source} />,
  },
  {
    id: "pending",
    header: "Pending",
    cell: (error) => <EventsOf error={error} status="pending" source={source} />,
  },
  { id: "attempts", header: "Attempts", cell: (error) => error.attempts.toLocaleString() },
  { id: "sources", header: "Seen in", cell: (error) => <SeenIn error={error} /> },
  {
    id: "seen",
    header: "Last seen",
    cell: (error) => (
      <>
        <Time at={error.last_seen_at} />
        <span className="quiet outcome">
          first <Age at={error.first_seen_at} />
        </span>
      </>
    ),
  },
  {
    id: "acts",
    header: "What to do",
    cell: (error) => <Acts error={error} source={source} />,
  },
];

function Title({ error }: { error: ErrorGroup }) {
  const { title, code, state, note, state_by, state_at, reopened_at, sample } = error;
  return (
    <>
      <code className="error-title">{title}</code>
      <span className="quiet outcome">
        {code} ·{" "}
        <Link to={eventLink(sample.source, sample.event_id, sample.generation)}>sample</Link>
        {state !== "open" && state_at !== null && (
          <>
            {" "}
            · {state} <Age at={state_at} /> by {state_by ?? "unknown user"}
          </>
        )}
        {state === "open" && reopened_at !== null && (
          <>
            {" "}
            · came back <Age at={reopened_at} />
          </>
        )}
      </span>
      {note !== null && <span className="outcome">{note}</span>}
    </>
  );
}

interface OfSource {
  readonly error: ErrorGroup;
  readonly source: string | undefined;
}

function filterOf({ error, source }: OfSource, status?: string): ListFilter {
  return {
    error: error.fingerprint,
    ...(source !== undefined && { source }),
    ...(status !== undefined && { status }),
  };
}

function EventsOf({ error, status, source }: OfSource & { status: "failed" | "pending" }) {
  const count = error[status];
  if (count === 0) return "0";
  const to = `/?${writeFilter(filterOf({ error, source }, status))}`;
  return (
    <Link to={to} aria-label={`${countOf(count, "event")} ${status}`}>
      {count.toLocaleString()}
    </Link>
  );
}

const SOURCES_SHOWN = 3;

function SeenIn({ error: { sources } }: { error: ErrorGroup }) {
  const shown = sources.slice(0, SOURCES_SHOWN);
  return (
    <>
      {shown.map(({ source, type }) => (
        <span key={`${source} ${type}`} className="outcome">
          {source} <span className="quiet">{type}</span>
        </span>
      ))}
      {sources.length > shown.length && (
        <span className="quiet outcome">and {sources.length - shown.length} more</span>
      )}
    </>
  );
}

type Act = "retry" | ErrorGroup["state"];

function Acts({ error, source }: OfSource) {
  const [act, setAct] = useState<Act>();
  const mayWrite = useMayWrite();
  if (!mayWrite) return null;
  const close = () => setAct(undefined);
  const { failed, state } = error;
  return (
    <div className="row-acts">
      <button disabled={failed === 0} onClick={() => setAct("retry")}>
        Retry these…
      </button>
      {state === "open" ? (
        <>
          <button onClick={() => setAct("resolved")}>Resolve…</button>
          <button onClick={() => setAct("ignored")}>Ignore…</button>
        </>
      ) : (
        <button onClick={() => setAct("open")}>Reopen…</button>
      )}
      {act === "retry" && (
        <BulkDialog verb="retry" filter={filterOf({ error, source })} onClose={close} />
      )}
      {act !== undefined && act !== "retry" && (
        <StateDialog error={error} state={act} onClose={close} />
      )}
    </div>
  );
}

const WORDS = {
  resolved: {
    label: "Resolve",
    done: "Resolved.",
    meaning: "It leaves the list of open errors. If it comes back, it is open again and says so.",
  },
  ignored: {
    label: "Ignore",
    done: "Ignored.",
    meaning: "It leaves the list of open errors and stays away, also when it comes back.",
  },
  open: { label: "Reopen", done: "Reopened.", meaning: "It stands among the open errors again." },
} as const;

interface Props {
  readonly error: ErrorGroup;
  readonly state: ErrorGroup["state"];
  readonly onClose: () => void;
}

const NOTE = {
  name: "note",
  label: "Note",
  hint: "(optional, shown with the error)",
  placeholder: "Fixed in 2.4.1",
};

function StateDialog({ error, state, onClose }: Props) {
  const { label, done, meaning } = WORDS[state];
  const { fingerprint } = error;
  return (
    <ReasonDialog
      title={`${label} this error`}
      label={label}
      field={NOTE}
      act={(note) =>
        request("post /errors/:fingerprint", { params: { fingerprint }, body: { state, note } })
      }
      onDone={() => notify({ kind: "done", text: done })}
      onClose={onClose}
    >
      <p>{meaning}</p>
      <p>
        <code className="error-title">{error.title}</code>
      </p>
    </ReasonDialog>
  );
}
