import type { EventDetail } from "@millrace/api-contract";
import { useInfiniteQuery, type UseInfiniteQueryResult } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { memo, useMemo, useState } from "react";
import { BODY_PART, bodyQuery } from "../api/queries.ts";
import { bodyHref } from "../api/request.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { countOf, formatCount } from "../parts/format.ts";
import { copy, CopyButton } from "../parts/notice.tsx";
import { RowMenu } from "../parts/row-menu.tsx";
import { curlCommand, sendCommand } from "./copy-as.ts";
import { joinParts, linesOf } from "./body-text.ts";
import {
  formatJson,
  shownText,
  textOf,
  type JsonLine,
  type Token,
} from "@millrace/api-contract/format-body";

/** Formats JSON, and shows any other body as received; a large one in parts. */
export function Payload({ event }: { event: EventDetail }) {
  return (
    <section aria-labelledby="payload" className="panel">
      {event.body_kept ? (
        // Another event, or generation, begins with its own first part.
        <Body key={event.generation} event={event} />
      ) : (
        <>
          <h2 id="payload">Payload</h2>
          <NoBody event={event} />
        </>
      )}
    </section>
  );
}

function Body({ event }: { event: EventDetail }) {
  const { data, error, refetch, ...query } = useInfiniteQuery(bodyQuery(event));
  const total = event.body_bytes ?? 0;
  const bytes = useMemo(() => joinParts(data?.pages ?? []), [data]);
  const text = useMemo(() => shownText(bytes, bytes.length === total), [bytes, total]);
  const [exact, setExact] = useState(false);
  const isWhole = data !== undefined && bytes.length === total;
  const isSmall = isWhole && total <= BODY_PART;
  const json = useMemo(
    () => (isSmall && text !== undefined ? formatJson(text) : undefined),
    [isSmall, text],
  );
  const formatted = typeof json === "object" && !exact ? json : undefined;
  const lines = useMemo(() => {
    if (text === undefined) return ["Not text. Download it to see its bytes."];
    return formatted?.map(textOf) ?? linesOf(text, isSmall);
  }, [text, formatted, isSmall]);
  const kind =
    text === undefined
      ? "not text"
      : typeof json === "object"
        ? "JSON"
        : AS_RECEIVED[json ?? "part"];
  return (
    <>
      <div className="panel-head">
        <h2 id="payload">Payload</h2>
        <span className="quiet">
          {data !== undefined && kind !== "" && `${kind}, `}
          {countOf(total, "byte")}
        </span>
        {typeof json === "object" && (
          <button className="plain" aria-pressed={exact} onClick={() => setExact(!exact)}>
            As received
          </button>
        )}
        {isWhole && text !== undefined && (
          <>
            <CopyButton
              text={formatted === undefined ? text : lines.join("\n")}
              what="the payload"
            />
            <RowMenu
              label="Copy as a command"
              items={[
                {
                  text: "Copy as millrace send",
                  act: () => void copy(sendCommand(event, text), "the command"),
                },
                {
                  text: "Copy as curl",
                  act: () => void copy(curlCommand(event, text), "the command"),
                },
              ]}
            />
          </>
        )}
        <a
          className="button icon"
          href={bodyHref(event, { generation: String(event.generation) })}
          download
        >
          <Download aria-hidden="true" />
          <span className="hidden">Download</span>
        </a>
      </div>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined ? (
        error === null && <p className="quiet">Reading the body…</p>
      ) : (
        <Text lines={lines} json={formatted} />
      )}
      {data !== undefined && !isWhole && text !== undefined && (
        <More shown={bytes.length} total={total} query={query} />
      )}
    </>
  );
}

/** More lines would make the page slow. */
const LINES_SHOWN = 2_000;

interface TextProps {
  readonly lines: readonly string[];
  readonly json: readonly JsonLine[] | undefined;
}

function Text({ lines, json }: TextProps) {
  const [limit, setLimit] = useState(LINES_SHOWN);
  return (
    <>
      <pre className="payload" tabIndex={0} aria-label="Payload">
        {lines.slice(0, limit).map((text, line) => (
          <TextLine key={line} text={text} tokens={json?.[line]?.tokens} />
        ))}
      </pre>
      {lines.length > limit && (
        <button onClick={() => setLimit(lines.length)}>
          Show {countOf(lines.length - limit, "more line")}
        </button>
      )}
    </>
  );
}

interface TextLineProps {
  readonly text: string;
  readonly tokens: readonly Token[] | undefined;
}

const TextLine = memo(function TextLine({ text, tokens }: TextLineProps) {
  const colored = tokens?.map(({ kind, text: piece }, at) => (
    <span key={at} className={`json-${kind}`}>
      {piece}
    </span>
  ));
  return (
    <div>
      {colored === undefined ? text : /^ */.exec(text)?.[0]}
      {colored}
      {"\n"}
    </div>
  );
});

interface MoreProps {
  readonly shown: number;
  readonly total: number;
  readonly query: Pick<
    UseInfiniteQueryResult,
    "hasNextPage" | "fetchNextPage" | "isFetchingNextPage"
  >;
}

function More({ shown, total, query }: MoreProps) {
  const { hasNextPage, fetchNextPage, isFetchingNextPage } = query;
  return (
    <div className="actions">
      <p role="status" className="quiet">
        The first {formatCount(shown)} of {countOf(total, "byte")}.
        {!hasNextPage && " No more is shown here: download it for the rest."}
      </p>
      {hasNextPage && (
        <button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
          {isFetchingNextPage ? "Reading…" : "Show more"}
        </button>
      )}
    </div>
  );
}

function NoBody({ event }: { event: EventDetail }) {
  return event.stage === "queued" ? (
    <p className="quiet">The body is not available until a worker has recorded the event.</p>
  ) : (
    <p className="quiet">
      The body is no longer kept. Bodies are kept for 30 days by default; see <code>retention</code>{" "}
      in the config. Without its body, the event cannot run again.
    </p>
  );
}

const AS_RECEIVED = {
  not_json: "not JSON",
  too_deep: "JSON, nested too deep to format",
  part: "",
} as const;
