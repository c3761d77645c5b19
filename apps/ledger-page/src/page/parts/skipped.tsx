import { REASON_WORDS } from "@millrace/api-contract/run-text";
import { countOf } from "./count.ts";

const WORDS: Readonly<Record<string, string>> = REASON_WORDS;

/** The numbers of events that were skipped, each with its reason. */
export function Skipped({ reasons }: { reasons: Readonly<Record<string, number>> }) {
  const skipped = Object.entries(reasons);
  if (skipped.length === 0) return null;
  return (
    <ul className="skipped">
      {skipped.map(([reason, count]) => (
        <li key={reason}>
          {countOf(count, "event")} skipped: {WORDS[reason] ?? reason} <code>{reason}</code>
        </li>
      ))}
    </ul>
  );
}
