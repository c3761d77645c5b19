import type { BulkVerb } from "@millrace/api-contract";
import { useState } from "react";
import { countOf, formatCount } from "../parts/format.ts";
import { BulkDialog } from "../runs/bulk-dialog.tsx";
import { useMayWrite } from "../session/session.ts";
import type { List } from "./use-list.ts";

interface Props {
  readonly list: List;
  readonly live: boolean;
  readonly setLive: (live: boolean) => void;
  readonly shown: number | undefined;
  readonly total: { readonly count: number; readonly more: boolean } | undefined;
  readonly waiting: number;
  readonly letIn: () => void;
}

export function ListTools({ list, live, setLive, shown, total, waiting, letIn }: Props) {
  const [verb, setVerb] = useState<BulkVerb>();
  const mayWrite = useMayWrite();
  const { filter, cursor, order } = list;
  return (
    <div className="tools">
      <p role="status" className="quiet">
        {shown !== undefined && shownOf(shown, total)}
        {cursor !== undefined && ". Further pages do not refresh automatically"}
      </p>
      <button
        aria-pressed={order === "asc"}
        onClick={() => list.sortBy(order === "asc" ? "desc" : "asc")}
      >
        Oldest first
      </button>
      {waiting > 0 && (
        <button className="primary" onClick={letIn}>
          Show {waiting} new
        </button>
      )}
      <button
        aria-pressed={live && cursor === undefined}
        disabled={cursor !== undefined}
        onClick={() => setLive(!live)}
        className="live"
      >
        <span className="dot" aria-hidden="true" />
        Live
      </button>
      {mayWrite && <BulkButtons filter={filter} choose={setVerb} />}
      {verb !== undefined && (
        <BulkDialog verb={verb} filter={filter} onClose={() => setVerb(undefined)} />
      )}
    </div>
  );
}

interface BulkButtonsProps {
  readonly filter: List["filter"];
  readonly choose: (verb: BulkVerb) => void;
}

function BulkButtons({ filter: { status }, choose }: BulkButtonsProps) {
  const mayFail = status === undefined || status === "failed";
  return (
    <>
      <button disabled={!mayFail} onClick={() => choose("retry")}>
        Retry failed…
      </button>
      <button disabled={status === "pending"} onClick={() => choose("replay")}>
        Replay…
      </button>
      {status === "pending" && <button onClick={() => choose("give_up")}>Give up…</button>}
    </>
  );
}

function shownOf(shown: number, total: Props["total"]): string {
  const onPage = `${countOf(shown, "event")} on this page`;
  return total === undefined
    ? onPage
    : `${onPage} of ${formatCount(total.count)}${total.more ? "+" : ""}`;
}
