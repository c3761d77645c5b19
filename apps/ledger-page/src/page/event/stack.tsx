import type { Attempt } from "@millrace/api-contract";

type Frame = NonNullable<Attempt["stack"]>[number];

/** The innermost call first. */
export function Frames({ frames }: { frames: readonly Frame[] }) {
  return (
    <ol className="stack">
      {frames.map((frame, index) => (
        // oxlint-disable-next-line no-array-index-key -- frames of a recursion are equal
        <li key={index} className={frame.own ? "own" : "quiet"}>
          <code>
            {frame.function !== null && `${frame.function} `}
            {placeOf(frame)}
          </code>
        </li>
      ))}
    </ol>
  );
}

export function placeOf({ file, line, column }: Frame): string {
  return [file, line, column].filter((part) => part !== null).join(":");
}
