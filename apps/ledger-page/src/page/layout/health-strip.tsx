import type { Health } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, CircleQuestionMark, CircleX } from "lucide-react";
import { healthQuery } from "../api/queries.ts";

type Item = Pick<Health["items"][number], "level" | "text" | "detail">;

/** It has a fixed height and scrolls in itself, so that no news moves the page. */
export function HealthStrip() {
  const { data, error } = useQuery(healthQuery);
  const items: readonly Item[] = error
    ? [UNREACHABLE]
    : data === undefined || Array.isArray(data.items)
      ? (data?.items ?? [])
      : [UNREADABLE];
  const of = (level: Item["level"]) => items.filter((item) => item.level === level);
  const [bad, warn] = [of("bad"), of("warn")];
  const rest = [...of("unknown"), ...of("ok")];
  const level = bad.length > 0 ? "bad" : warn.length > 0 ? "warn" : "ok";
  return (
    <section className={`health ${level}`} aria-label="Health">
      {/* Both stay in the page while they are empty: only what changes in them is read out. */}
      <div role="alert">
        <Items items={bad} />
      </div>
      <div role="status">
        <Items items={warn} />
        {data === undefined && !error && (
          <p className="quiet">Checking Redis, Postgres and workers…</p>
        )}
      </div>
      {rest.length > 0 && (
        <details>
          <summary>{summaryOf(level, rest)}</summary>
          <Items items={rest} />
        </details>
      )}
    </section>
  );
}

/** The last answer is still shown, and it may be wrong by now. */
const UNREACHABLE: Item = {
  level: "bad",
  text: "The dashboard does not answer",
  detail: "What the page shows may be old.",
};

/** The answer of a proxy or another build; an empty strip would read as if all were well. */
const UNREADABLE: Item = {
  level: "bad",
  text: "Health is not known",
  detail: "The dashboard's answer cannot be read. Load the page again.",
};

function summaryOf(level: string, rest: readonly Item[]): string {
  if (level !== "ok") return `${rest.length} other checks`;
  const unknown = rest.filter((item) => item.level === "unknown").length;
  return unknown === 0 ? "All well" : `No trouble found, ${unknown} not known`;
}

const SIGNS = {
  ok: <CircleCheck />,
  warn: <CircleAlert />,
  bad: <CircleX />,
  unknown: <CircleQuestionMark />,
};

function Items({ items }: { items: readonly Item[] }) {
  if (items.length === 0) return null;
  return (
    <ul>
      {items.map(({ level, text, detail }) => (
        <li key={text} className={level}>
          {SIGNS[level]}
          <span>
            <strong>{text}</strong>
            {detail !== null && <span className="quiet"> {withCode(detail)}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Commands stand between backticks. */
const withCode = (text: string) =>
  text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
