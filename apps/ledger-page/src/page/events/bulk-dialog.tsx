import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { serverNowMs } from "../api/server-clock.ts";
import { countOf } from "../parts/count.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { Modal } from "../parts/modal.tsx";
import { notify } from "../parts/notice.tsx";
import { reasonBody, ReasonField } from "../parts/reason-field.tsx";
import { Skipped } from "../parts/skipped.tsx";
import { bulkBody, doneOf, lookedAt, runMany, type Verb } from "./bulk.ts";
import { apiFilter, type ListFilter } from "./list-filter.ts";

interface Props {
  readonly verb: Verb;
  readonly filter: ListFilter;
  readonly onClose: () => void;
}

/** Retries or replays what the filter shows, after a dry run that says how many. */
export function BulkDialog({ verb, filter, onClose }: Props) {
  // One moment for both: the last hour must not move on between the count and the act.
  const [body] = useState(() => bulkBody(verb, apiFilter(filter, serverNowMs())));
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const running = useRef<AbortController>(null);
  // What has not begun when the dialog goes is left alone.
  useEffect(() => () => running.current?.abort(), []);
  const dryRun = useQuery({
    queryKey: ["dry-run", verb, body],
    queryFn: ({ signal }) => runMany(verb, { ...body, dryRun: true }, signal),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const run = useMutation({
    mutationFn: (limit: number) => {
      running.current = new AbortController();
      return runMany(verb, { ...body, limit, ...reasonBody(reason) }, running.current.signal);
    },
    onSuccess: (result) => {
      notify({ kind: "done", text: `${PAST[verb]} ${countOf(doneOf(result), "event")}.` });
      onClose();
    },
    onSettled: () => client.invalidateQueries(),
  });
  const count = dryRun.data === undefined ? undefined : doneOf(dryRun.data);
  return (
    <Modal title={TITLE[verb]} onClose={onClose}>
      <p>{MEANING[verb]}</p>
      <FilterWords filter={filter} verb={verb} />
      <div role="status" className="dry-run">
        {dryRun.isPending && "Counting…"}
        {dryRun.data !== undefined && (
          <>
            <strong>{countOf(count ?? 0, "event")}</strong> would be {PAST[verb].toLowerCase()}.
            <Skipped reasons={dryRun.data.skipped} />
          </>
        )}
      </div>
      {dryRun.error && <ErrorNote error={dryRun.error} onRetry={() => void dryRun.refetch()} />}
      <ReasonField value={reason} onChange={setReason} />
      {run.error && <ErrorNote error={run.error} />}
      <div className="actions">
        <button onClick={onClose}>{run.isPending ? "Stop" : "Cancel"}</button>
        <button
          className="primary"
          disabled={count === undefined || count === 0 || run.isPending}
          onClick={() => dryRun.data && run.mutate(lookedAt(dryRun.data))}
        >
          {run.isPending ? "Working…" : `${VERB[verb]} ${countOf(count ?? 0, "event")}`}
        </button>
      </div>
    </Modal>
  );
}

const VERB = { retry: "Retry", replay: "Replay" } as const;
const PAST = { retry: "Retried", replay: "Replayed" } as const;
const TITLE = { retry: "Retry failed events", replay: "Replay events" } as const;
const MEANING = {
  retry: "Every failed event that matches the filter runs again with the full number of attempts.",
  replay:
    "Every completed or failed event that matches the filter runs again as a new generation. What earlier runs wrote is not undone.",
} as const;

function FilterWords({ filter, verb }: { filter: ListFilter; verb: Verb }) {
  const given = Object.entries(verb === "retry" ? { ...filter, status: "failed" } : filter);
  if (given.length === 0) return <p className="filter-words">All events in the ledger</p>;
  return (
    <ul className="filter-words" aria-label="Filter">
      {given.map(([key, value]) => (
        <li key={key}>
          {key} <code>{value}</code>
        </li>
      ))}
    </ul>
  );
}
