import type { EventDetail } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { memo, useMemo, useState } from "react";
import { bodyQuery } from "../api/queries.ts";
import { bodyHref } from "../api/request.ts";
import { countOf, formatCount } from "../parts/format.ts";
import { copy, CopyButton, ErrorNote } from "../parts/notice.tsx";
import { Panel } from "../parts/panel.tsx";
import { RowMenu } from "../parts/data-table.tsx";
import { useMayWrite } from "../session/session.ts";
import { EditDialog } from "./edit-dialog.tsx";
import { curlCommand, sendCommand } from "./copy-as.ts";
import { linesOf } from "./body-text.ts";
import {
  formatJson,
  shownText,
  textOf,
  type JsonLine,
  type Token,
} from "@millrace/api-contract/format-body";

/** Formats JSON, and shows any other body as received; of a large one the first part. */
export function Payload({ event }: { event: EventDetail }) {
  if (event.body_kept) return <Body event={event} />;
  return (
    <Panel title="Payload">
      {event.stage === "queued" ? (
        <p className="quiet">The body is not available until a worker has recorded the event.</p>
      ) : (
        <p className="quiet">
          The body is no longer kept. Bodies are kept for 30 days by default; see{" "}
          <code>retention</code> in the config. Without its body, the event cannot run again.
        </p>
      )}
    </Panel>
  );
}

function Body({ event }: { event: EventDetail }) {
  const { data: bytes, error, refetch } = useQuery(bodyQuery(event));
  const total = event.body_bytes ?? 0;
  const isWhole = bytes?.length === total;
  const text = useMemo(() => shownText(bytes ?? new Uint8Array(), isWhole), [bytes, isWhole]);
  const [exact, setExact] = useState(false);
  const [editing, setEditing] = useState(false);
  const mayWrite = useMayWrite();
  const json = useMemo(
    () => (isWhole && text !== undefined ? formatJson(text) : undefined),
    [isWhole, text],
  );
  const formatted = typeof json === "object" && !exact ? json : undefined;
  const lines = useMemo(() => {
    if (text === undefined) return ["Not text. Download it to see its bytes."];
    return formatted?.map(textOf) ?? linesOf(text, isWhole);
  }, [text, formatted, isWhole]);
  const kind =
    text === undefined
      ? "not text"
      : typeof json === "object"
        ? "JSON"
        : AS_RECEIVED[json ?? "part"];
  const tools = (
    <>
      <span className="quiet">
        {bytes !== undefined && kind !== "" && `${kind}, `}
        {countOf(total, "byte")}
      </span>
      {typeof json === "object" && (
        <button className="plain" aria-pressed={exact} onClick={() => setExact(!exact)}>
          As received
        </button>
      )}
      {isWhole && text !== undefined && (
        <>
          {mayWrite && event.stage === "recorded" && (
            <button className="plain" onClick={() => setEditing(true)}>
              Edit and send…
            </button>
          )}
          <CopyButton text={formatted === undefined ? text : lines.join("\n")} what="the payload" />
          <RowMenu
            label="Copy as a command"
            items={COMMANDS.map(([name, commandFor]) => ({
              text: `Copy as ${name}`,
              act: () => void copy(commandFor(event, text), "the command"),
            }))}
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
    </>
  );
  return (
    <Panel title="Payload" tools={tools}>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {bytes === undefined ? (
        error === null && <p className="quiet">Reading the body…</p>
      ) : (
        <Text lines={lines} json={formatted} />
      )}
      {editing && text !== undefined && (
        <EditDialog event={event} text={text} onClose={() => setEditing(false)} />
      )}
      {bytes !== undefined && !isWhole && text !== undefined && (
        <p className="quiet">
          The first {formatCount(bytes.length)} of {countOf(total, "byte")}. Download it for the
          rest.
        </p>
      )}
    </Panel>
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

const COMMANDS = [
  ["millrace send", sendCommand],
  ["curl", curlCommand],
] as const;
const AS_RECEIVED = {
  not_json: "not JSON",
  too_deep: "JSON, nested too deep to format",
  part: "",
} as const;
