import { countOf } from "./count.ts";

const WHY: Readonly<Record<string, string>> = {
  body_missing: "their bodies are no longer kept",
  not_failed: "they are completed or already waiting to run",
  not_settled: "they are pending",
  superseded: "a later generation exists",
  unknown_source: "their source is not configured",
  only_in_queue: "they exist only as failed jobs",
  not_found: "they no longer exist",
  not_pending: "they are already completed or failed",
  event_running: "their handlers were running",
};

/** What was left alone, and why. */
export function Skipped({ reasons }: { reasons: Readonly<Record<string, number>> }) {
  const given = Object.entries(reasons);
  if (given.length === 0) return null;
  return (
    <ul className="skipped">
      {given.map(([reason, count]) => (
        <li key={reason}>
          {countOf(count, "event")} skipped: {WHY[reason] ?? reason} <code>{reason}</code>
        </li>
      ))}
    </ul>
  );
}
