import { memo, type ReactNode } from "react";
import type { Match } from "./find-matches.ts";
import type { Token } from "./format-json.ts";

interface Props {
  readonly text: string;
  readonly tokens: readonly Token[] | undefined;
  /** The matches in this line, each of `length` characters. */
  readonly matches: readonly Match[] | undefined;
  readonly length: number;
  /** The one that is gone to. */
  readonly current: Match | undefined;
}

/** A line of a text: coloured where nothing was found in it, else with what was found marked. */
export const TextLine = memo(function TextLine({ text, tokens, matches, length, current }: Props) {
  if (matches !== undefined) {
    return (
      <div>
        {marked(text, { matches, length, current })}
        {"\n"}
      </div>
    );
  }
  return (
    <div>
      {tokens === undefined ? text : coloured(text, tokens)}
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

function marked(
  text: string,
  {
    matches,
    length,
    current,
  }: { matches: readonly Match[]; length: number; current: Match | undefined },
): ReactNode {
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
