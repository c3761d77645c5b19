import type { EventDetail } from "@millrace/api-contract";
import { useMemo, useState } from "react";
import { CopyButton } from "../parts/copy-button.tsx";
import { formatCount } from "../parts/count.ts";
import { formatJson, textOf, type JsonLine } from "./format-json.ts";
import { hexDump } from "./hex-dump.ts";
import { SearchableText } from "./searchable-text.tsx";

/** The body, set out where it is JSON, else as it came; searched and copied. */
export function Payload({ event }: { event: EventDetail }) {
  const { body, body_encoding } = event;
  return (
    <section aria-labelledby="payload" className="panel">
      {body === null ? (
        <>
          <h2 id="payload">Payload</h2>
          <NoBody event={event} />
        </>
      ) : body_encoding === "base64" ? (
        <Bytes base64={body} />
      ) : (
        <Text text={body} />
      )}
    </section>
  );
}

function Text({ text }: { text: string }) {
  const json = useMemo(() => formatJson(text), [text]);
  const [exact, setExact] = useState(false);
  const isSetOut = json !== undefined && !exact;
  const lines = useMemo(
    () => (isSetOut ? json.map(textOf) : text.split("\n")),
    [isSetOut, json, text],
  );
  return (
    <>
      <div className="panel-head">
        <h2 id="payload">Payload</h2>
        <span className="quiet">
          {json === undefined ? "not JSON" : "JSON"}, {formatCount(byteLength(text))} bytes
        </span>
        {json !== undefined && (
          <button className="small" aria-pressed={exact} onClick={() => setExact(!exact)}>
            As received
          </button>
        )}
        <CopyButton text={isSetOut ? lines.join("\n") : text} what="the payload" />
      </div>
      <SearchableText lines={lines} {...(isSetOut && { tokens: tokensOf(json) })} />
    </>
  );
}

function Bytes({ base64 }: { base64: string }) {
  const { lines, bytes } = useMemo(() => hexDump(base64), [base64]);
  return (
    <>
      <div className="panel-head">
        <h2 id="payload">Payload</h2>
        <span className="quiet">not text, {formatCount(bytes)} bytes</span>
        <CopyButton text={base64} what="the payload as base64" />
      </div>
      <SearchableText lines={lines} />
    </>
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

const tokensOf = (json: readonly JsonLine[]) => json.map((line) => line.tokens);
const byteLength = (text: string): number => new TextEncoder().encode(text).length;
