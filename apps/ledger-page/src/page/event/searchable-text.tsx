import { memo, useMemo, useState, type KeyboardEvent, type ReactNode } from "react";
import { countOf } from "../parts/format.ts";
import { findMatches, type Match } from "./body-text.ts";
import type { Token } from "@millrace/api-contract/format-body";

/** More lines would make the page slow. */
const LINES_SHOWN = 2_000;
const LINES_AROUND = 20;

interface Props {
  readonly lines: readonly string[];
  readonly tokens?: readonly (readonly Token[])[];
}

/** Enter goes to the next match, Shift and Enter to the previous one. */
export function SearchableText({ lines, tokens }: Props) {
  const [wanted, setWanted] = useState("");
  const [at, setAt] = useState(0);
  const [limit, setLimit] = useState(LINES_SHOWN);
  const matches = useMemo(() => findMatches(lines, wanted), [lines, wanted]);
  const current = matches[at % Math.max(1, matches.length)];
  const shown = Math.max(limit, (current?.line ?? 0) + LINES_AROUND);
  const byLine = useMemo(() => byLineOf(matches), [matches]);
  const step = (by: number) => setAt((now) => (now + by + matches.length) % matches.length);
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || matches.length === 0) return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  return (
    <>
      <div className="find">
        <input
          type="search"
          aria-label="Search the payload"
          placeholder="Search"
          value={wanted}
          spellCheck={false}
          onKeyDown={onKey}
          onChange={(event) => {
            setWanted(event.target.value);
            setAt(0);
          }}
        />
        <span role="status" className="quiet">
          {wanted !== "" && placeOf(matches, at)}
        </span>
      </div>
      <pre className="payload" tabIndex={0} aria-label="Payload">
        {lines.slice(0, shown).map((text, line) => (
          <TextLine
            key={line}
            text={text}
            tokens={tokens?.[line]}
            matches={byLine.get(line)}
            length={wanted.length}
            current={current?.line === line ? current : undefined}
          />
        ))}
      </pre>
      {lines.length > shown && (
        <button onClick={() => setLimit(lines.length)}>
          Show {countOf(lines.length - shown, "more line")}
        </button>
      )}
    </>
  );
}

function byLineOf(matches: readonly Match[]): ReadonlyMap<number, readonly Match[]> {
  const lines = new Map<number, Match[]>();
  for (const match of matches) {
    const known = lines.get(match.line);
    if (known === undefined) lines.set(match.line, [match]);
    else known.push(match);
  }
  return lines;
}

const placeOf = (matches: readonly Match[], at: number): string =>
  matches.length === 0 ? "No matches" : `${(at % matches.length) + 1} of ${matches.length}`;

interface TextLineProps {
  readonly text: string;
  readonly tokens: readonly Token[] | undefined;
  /** Each of `length` characters. */
  readonly matches: readonly Match[] | undefined;
  readonly length: number;
  readonly current: Match | undefined;
}

/** Tokens have their color, unless the line has a match. */
const TextLine = memo(function TextLine({ text, tokens, matches, length, current }: TextLineProps) {
  const colored = tokens === undefined ? text : coloured(text, tokens);
  return (
    <div>
      {matches === undefined ? colored : marked(text, { matches, length, current })}
      {"\n"}
    </div>
  );
});

function coloured(text: string, tokens: readonly Token[]): ReactNode {
  return (
    <>
      {/^ */.exec(text)?.[0]}
      {tokens.map(({ kind, text: piece }, at) => (
        <span key={at} className={`json-${kind}`}>
          {piece}
        </span>
      ))}
    </>
  );
}

interface Marks {
  readonly matches: readonly Match[];
  readonly length: number;
  readonly current: Match | undefined;
}

function marked(text: string, { matches, length, current }: Marks): ReactNode {
  let from = 0;
  const pieces = matches.flatMap((match) => {
    const before = text.slice(from, match.at);
    from = match.at + length;
    const found = text.slice(match.at, from);
    const isCurrent = match === current;
    return [
      before,
      <mark
        key={match.at}
        className={isCurrent ? "current" : ""}
        ref={isCurrent ? (mark) => mark?.scrollIntoView({ block: "nearest" }) : undefined}
      >
        {found}
      </mark>,
    ];
  });
  return [...pieces, text.slice(from)];
}
