import { useState } from "react";
import { countOf } from "../parts/count.ts";
import { useMayWrite } from "../session/session-context.ts";
import { BulkDialog } from "./bulk-dialog.tsx";
import type { List } from "./use-list.ts";

interface Props {
  readonly list: List;
  readonly live: boolean;
  readonly setLive: (live: boolean) => void;
  /** Rows on the page; undefined before the first answer. */
  readonly shown: number | undefined;
  readonly waiting: number;
  readonly letIn: () => void;
}

/** What the list shows, whether it is live, and what is done with all of it. */
export function ListTools({ list, live, setLive, shown, waiting, letIn }: Props) {
  const [verb, setVerb] = useState<"retry" | "replay">();
  const mayWrite = useMayWrite();
  const { filter, cursor } = list;
  const mayFail = filter.status === undefined || filter.status === "failed";
  return (
    <div className="tools">
      <p role="status" className="quiet">
        {shown !== undefined && `${countOf(shown, "event")} on this page`}
        {cursor !== undefined && ". Older pages do not refresh automatically"}
      </p>
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
      {mayWrite && (
        <>
          <button
            disabled={!mayFail || filter.outcome !== undefined}
            onClick={() => setVerb("retry")}
          >
            Retry failed…
          </button>
          <button disabled={filter.status === "pending"} onClick={() => setVerb("replay")}>
            Replay…
          </button>
        </>
      )}
      {verb !== undefined && (
        <BulkDialog verb={verb} filter={filter} onClose={() => setVerb(undefined)} />
      )}
    </div>
  );
}
