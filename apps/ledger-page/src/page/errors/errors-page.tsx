import type { ERROR_STATES as ErrorStates, ErrorGroup } from "@millrace/api-contract";
import { ownerName } from "@millrace/api-contract/run-text";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { errorsQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import { DataTable, Pager, type Column, RowMenu, type MenuItem } from "../parts/data-table.tsx";
import { ReasonDialog } from "../parts/dialog.tsx";
import { Filters, SelectField, SourceFilter, TextFilter, useUrlFields } from "../parts/filters.tsx";
import { countOf, formatCount, titleOf } from "../parts/format.ts";
import { writeFilter } from "../parts/list-filter.ts";
import { PageHead } from "../parts/panel.tsx";
import { notify, ErrorNote } from "../parts/notice.tsx";
import { Age } from "../parts/time.tsx";
import { BulkDialog } from "../runs/bulk-dialog.tsx";
import { useMayWrite, useSession } from "../session/session.ts";

const ORDERS = ["count", "first", "last"] as const;
const STATES: typeof ErrorStates = ["open", "resolved", "ignored"];
/** In the URL. Without a state, open errors are shown. */
const ALL = "all";
const PAGE = 50;

export function ErrorsPage() {
  const { given, change, field } = useUrlFields("offset");
  const state = given("state") ?? "open";
  const sort = ORDERS.find((order) => order === given("sort")) ?? "last";
  const offset = Number(given("offset") ?? 0) || 0;
  const [source, q] = [given("source"), given("q")];
  const ofPage = { offset: String(offset), limit: String(PAGE) };
  const errors = useQuery(
    errorsQuery({ source, state: state === ALL ? undefined : state, q, sort, ...ofPage }),
  );
  const { data, error } = errors;
  return (
    <section className="list">
      <PageHead
        title="Errors"
        about="Failed attempts, a row for all with the same error. What varies in it, such as ids and numbers, does not count."
      />
      <Filters label="Errors">
        <SelectField
          label="State"
          value={state === ALL ? undefined : state}
          any="All states"
          options={STATES}
          onChange={(value) => change("state", value === "" ? ALL : value)}
        />
        <SourceFilter {...field("source")} />
        <TextFilter label="Text" placeholder="Text" {...field("q")} />
        <SelectField label="Sort by" options={ORDERS} {...field("sort")} value={sort} />
      </Filters>
      {error && <ErrorNote error={error} onRetry={() => void errors.refetch()} />}
      <p role="status" className="quiet">
        {data === undefined && error === null && "Loading…"}
        {data !== undefined && data.total > 0 && countOf(data.total, "error")}
      </p>
      {data?.total === 0 && (
        <div className="empty">
          <h2>
            No {offset > 0 && "more "}
            {state === ALL ? "" : state} errors
          </h2>
          <p>Errors of handlers are gathered here, with the events that they failed.</p>
        </div>
      )}
      <DataTable
        caption="Errors"
        columns={columnsOf(source)}
        rows={data?.errors}
        keyOf={({ fingerprint }) => fingerprint}
      />
      {data !== undefined && (offset > 0 || data.total > PAGE) && (
        <Pager
          steps={{
            "← Previous":
              offset > 0 && (() => change("offset", String(Math.max(0, offset - PAGE)))),
            "Next →": offset + PAGE < data.total && (() => change("offset", String(offset + PAGE))),
          }}
        />
      )}
    </section>
  );
}

const columnsOf = (source: string | undefined): Column<ErrorGroup>[] => [
  {
    id: "title",
    header: "Error",
    cell: ({ fingerprint, title }) => (
      <Link to={`/errors/${fingerprint}`} title={title}>
        <code>{title}</code>
      </Link>
    ),
  },
  { id: "sources", header: "Seen in", cell: (error) => <SeenIn error={error} /> },
  ...(["failed", "pending"] as const).map((status) => ({
    id: status,
    header: titleOf(status),
    cell: (error: ErrorGroup) => <EventsOf error={error} status={status} source={source} />,
  })),
  { id: "number", header: "Attempts", cell: ({ attempts }) => formatCount(attempts) },
  { id: "seen", header: "Last seen", cell: (error) => <Age at={error.last_seen_at} /> },
  { id: "first", header: "First seen", cell: (error) => <Age at={error.first_seen_at} /> },
  {
    id: "menu",
    header: <span className="hidden">Actions</span>,
    cell: (error) => <Acts error={error} source={source} />,
  },
];

interface OfSource {
  readonly error: ErrorGroup;
  readonly source: string | undefined;
}

function EventsOf({ error, status, source }: OfSource & { status: "failed" | "pending" }) {
  const count = error[status];
  if (count === 0) return <span className="quiet">0</span>;
  return (
    <Link
      to={`/events?${writeFilter({ error: error.fingerprint, source, status })}`}
      aria-label={`${countOf(count, "event")} ${status}`}
    >
      {formatCount(count)}
    </Link>
  );
}

function SeenIn({ error: { sources, owner, reopened_at, state } }: { error: ErrorGroup }) {
  const [first] = sources;
  return (
    <span title={sources.map(({ source, type }) => `${source} ${type}`).join("\n")}>
      {first?.source} <span className="quiet">{first?.type}</span>
      {sources.length > 1 && <span className="quiet"> +{sources.length - 1}</span>}
      {owner !== null && <span className="badge outcome">assigned to {owner}</span>}
      {state === "open" && reopened_at !== null && (
        <span className="badge pending outcome">came back</span>
      )}
    </span>
  );
}

function Acts({ error, source }: OfSource) {
  const { items, dialog } = useErrorActs(error, source);
  if (items.length === 0) return null;
  return (
    <>
      <RowMenu label={`Actions of ${error.title}`} items={items} />
      {dialog}
    </>
  );
}

type Act = "failed" | "pending" | ErrorGroup["state"];

export function useErrorActs(error: ErrorGroup, source?: string) {
  const [act, setAct] = useState<Act>();
  const mayWrite = useMayWrite();
  const session = useSession();
  const client = useQueryClient();
  const { failed, pending, fingerprint, owner, state } = error;
  const isMine = owner === ownerName(session);
  const own = useMutation({
    mutationFn: () => {
      const body = { mine: !isMine };
      return request("post /errors/:fingerprint", { params: { fingerprint }, body });
    },
    onError: (failure) => notify(<ErrorNote error={failure} />),
    onSettled: () => client.invalidateQueries(),
  });
  const items: MenuItem[] = [
    { text: "Retry these…", disabled: failed === 0, act: () => setAct("failed") },
    ...(pending > 0 ? [{ text: "Run pending now…", act: () => setAct("pending") }] : []),
    ...(state === "open"
      ? [
          { text: "Resolve…", act: () => setAct("resolved") },
          { text: "Ignore…", act: () => setAct("ignored") },
          { text: isMine ? "Unassign me" : "Assign to me", act: () => own.mutate() },
        ]
      : [{ text: "Reopen…", act: () => setAct("open") }]),
  ];
  const close = () => setAct(undefined);
  return {
    items: mayWrite ? items : [],
    dialog:
      act === undefined ? null : act === "failed" || act === "pending" ? (
        <BulkDialog
          verb="retry"
          filter={{ error: fingerprint, source, status: act }}
          onClose={close}
        />
      ) : (
        <StateDialog error={error} state={act} onClose={close} />
      ),
  };
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
      onDone={() => notify(done)}
      onClose={onClose}
    >
      <p>{meaning}</p>
      <code className="cause">{error.title}</code>
    </ReasonDialog>
  );
}
