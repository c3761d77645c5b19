import type { BulkVerb, COUNT_MAX as CountMax } from "@millrace/api-contract";
import { REASON_WORDS, timeText, filterOf, VERB_WORDS } from "@millrace/api-contract/run-text";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { errorQuery } from "../api/queries.ts";
import { serverNowMs } from "../api/request.ts";
import { ReasonDialog } from "../parts/dialog.tsx";
import { countOf, formatCount, titleOf } from "../parts/format.ts";
import { apiFilter, termsOf, type ListFilter } from "../parts/list-filter.ts";
import { notify, ErrorNote } from "../parts/notice.tsx";
import {
  bulkBody,
  confirmation,
  countMany,
  doneOf,
  lookedAt,
  RATE_DEFAULT,
  readRate,
  readTrial,
  startMany,
} from "./bulk.ts";

const COUNT_MAX: typeof CountMax = 100_000;

interface Props {
  readonly verb: BulkVerb;
  readonly filter: ListFilter;
  readonly onClose: () => void;
}

export function BulkDialog({ verb, filter, onClose }: Props) {
  // One moment for both: the last hour must not move on between the count and the act.
  const [body] = useState(() => bulkBody(verb, apiFilter(filter, serverNowMs())));
  const [typed, setTyped] = useState({
    rate: String(RATE_DEFAULT),
    canary: "",
    most: "",
    expected: "",
  });
  const field = (name: keyof typeof typed) => ({
    value: typed[name],
    onChange: (value: string) => setTyped({ ...typed, [name]: value }),
  });
  const dryRun = useQuery({
    queryKey: ["dry-run", verb, body],
    queryFn: ({ signal }) => countMany(verb, body, signal),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const { data } = dryRun;
  const asked = termsOf(filter.find).includes("status:pending") ? "pending" : filter.status;
  const { isDelayed, ...filtered } = filterOf(verb, { ...filter, status: asked });
  const rate = readRate(typed.rate);
  const trial = readTrial(typed.canary, typed.most);
  const count = data === undefined ? 0 : doneOf(data);
  const more = data?.more_than !== undefined;
  const needed = confirmation(body, data === undefined ? 0 : lookedAt(data));
  const isConfirmed =
    needed.expected === undefined ||
    typed.expected.replaceAll(/\D/g, "") === String(needed.expected);
  const events = more ? `more than ${countOf(COUNT_MAX, "event")}` : countOf(count, "event");
  return (
    <ReasonDialog
      title={isDelayed ? "Run pending events now" : TITLE[verb]}
      label={`${titleOf(verb)} ${data === undefined ? "" : events}`}
      className="danger"
      disabled={count === 0 || rate === undefined || trial === undefined || !isConfirmed}
      act={(reason) => startMany(verb, { ...body, ...needed, ...trial, rate, reason })}
      onDone={(started) => {
        if (started === undefined) return;
        notify(
          <p>
            Run {started.id} started. <Link to={`/runs/${started.id}`}>Watch it</Link>
          </p>,
        );
      }}
      onClose={onClose}
    >
      <p>{isDelayed ? DELAYED_MEANING : MEANING[verb]}</p>
      <FilterWords filter={filtered} />
      <div role="status" className="dry-run">
        {dryRun.isPending && "Counting…"}
        {data !== undefined && (
          <>
            <strong>{events}</strong> would be {VERB_WORDS[verb].done}
            {rate !== undefined && count > 0 && `, in ${timeText(count, rate, more)}`}.
            <Skipped reasons={data.skipped} />
          </>
        )}
      </div>
      {dryRun.error && <ErrorNote error={dryRun.error} onRetry={() => void dryRun.refetch()} />}
      <RateField {...field("rate")} />
      {verb !== "give_up" && (
        <>
          <SmallField
            label="Canary: run this many first, the others once all completed"
            {...field("canary")}
          />
          <SmallField label="Stop when more than this percentage fails again" {...field("most")} />
        </>
      )}
      {data !== undefined && count > 0 && needed.expected !== undefined && (
        <SmallField
          label={`Type the number of events that match, ${formatCount(needed.expected)}, to go on`}
          {...field("expected")}
        />
      )}
    </ReasonDialog>
  );
}

interface FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function RateField({ value, onChange }: FieldProps) {
  return (
    <label className="field rate">
      <span>Events per second</span>
      <input
        inputMode="decimal"
        value={value}
        aria-invalid={readRate(value) === undefined}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

function SmallField({ label, value, onChange }: FieldProps & { label: string }) {
  return (
    <label className="field">
      <span>{label}</span>
      <input inputMode="numeric" value={value} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}

const TITLE = {
  retry: "Retry failed events",
  replay: "Replay events",
  give_up: "Give up pending events",
} as const;
const MEANING = {
  retry: "Every failed event that matches the filter runs again with the full number of attempts.",
  replay:
    "Every completed or failed event that matches the filter runs again as a new generation. What earlier runs wrote is not undone.",
  give_up:
    "Every pending event that matches the filter fails with given_up, and is not tried again unless somebody retries it. An event whose handler is running is left alone.",
} as const;

const DELAYED_MEANING =
  "Every pending event that matches the filter and waits for its next attempt runs now. Its attempts stay counted.";

const entriesOf = (filter: object): [string, unknown][] =>
  Object.entries(filter).filter(([, value]) => ![undefined, null, false].includes(value));

export function FilterWords({ filter }: { filter: object }) {
  const given = entriesOf(filter);
  if (given.length === 0) return <p className="filter-words">All events in the ledger</p>;
  return (
    <ul className="filter-words" aria-label="Filter">
      {given.map(([key, value]) => (
        <li key={key}>
          {key} <FilterValue name={key} value={value} />
        </li>
      ))}
    </ul>
  );
}

/** In one line: an error by its title, and the rest as it was asked for. */
export function FilterText({ filter }: { filter: object }) {
  const given = entriesOf(filter);
  if (given.length === 0) return "all events";
  return given.map(([key, value]) => (
    <span key={key}>
      {key} <FilterValue name={key} value={value} />{" "}
    </span>
  ));
}

function FilterValue({ name, value }: { name: string; value: unknown }) {
  if (name === "error") return <ErrorTitle fingerprint={String(value)} />;
  return <code>{typeof value === "string" ? value : JSON.stringify(value)}</code>;
}

const SKIP_WORDS: Readonly<Record<string, string>> = REASON_WORDS;

export function Skipped({ reasons }: { reasons: Readonly<Record<string, number>> }) {
  const skipped = Object.entries(reasons);
  if (skipped.length === 0) return null;
  return (
    <ul className="skipped">
      {skipped.map(([reason, count]) => (
        <li key={reason}>
          {countOf(count, "event")} skipped: {SKIP_WORDS[reason] ?? reason} <code>{reason}</code>
        </li>
      ))}
    </ul>
  );
}

/** An error by what people know it by; its fingerprint until that is read. */
export function ErrorTitle({ fingerprint }: { fingerprint: string }) {
  const { data } = useQuery(errorQuery(fingerprint));
  return (
    <code className="error-title" title={fingerprint}>
      {data?.title ?? fingerprint}
    </code>
  );
}
