import type { HealthItem, SourceStats } from "@millrace/api-contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  CircleAlert,
  Keyboard,
  Layers,
  LayoutDashboard,
  List,
  LogOut,
  Menu,
  RotateCw,
  ScrollText,
  Webhook,
  CircleCheck,
  CircleQuestionMark,
  CircleX,
} from "lucide-react";
import { useState } from "react";
import { NavLink } from "react-router";
import { healthQuery, setSession, statsQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import icon from "../icon.svg";
import { personName } from "../parts/format.ts";
import { Modal } from "../parts/dialog.tsx";
import { notify, ErrorNote } from "../parts/notice.tsx";
import { Fact } from "../parts/panel.tsx";
import { useShortcuts, useShortcutsOn } from "../parts/shortcuts.ts";
import { useSession } from "../session/session.ts";

/** The left side of every page. In a narrow window it is a bar, and its menu opens by a button. */
export function Rail() {
  const [open, setOpen] = useState(false);
  const counts = useCounts();
  return (
    <header className={open ? "rail open" : "rail"}>
      <div className="rail-head">
        <NavLink to="/" className="brand" onClick={() => setOpen(false)}>
          <img src={icon} alt="" width={20} height={20} />
          Millrace
        </NavLink>
        <button
          className="icon menu"
          aria-label="Menu"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <Menu />
        </button>
      </div>
      <nav aria-label="Main" onClick={() => setOpen(false)}>
        {PLACES.map(({ to, text, Icon }) => (
          <NavLink key={to} to={to} end={to === "/"}>
            <Icon /> {text} <Count of={counts[to]} />
          </NavLink>
        ))}
        {/* bull-board is a page of its own, which this router does not know. */}
        <a href="/queues">
          <Layers /> Queues <Count of={counts["/queues"]} />
        </a>
      </nav>
      <HealthStrip />
      <Who />
    </header>
  );
}

export const PLACES = [
  { to: "/", text: "Overview", Icon: LayoutDashboard },
  { to: "/events", text: "Events", Icon: List },
  { to: "/errors", text: "Errors", Icon: CircleAlert },
  { to: "/runs", text: "Runs", Icon: RotateCw },
  { to: "/sources", text: "Sources", Icon: Webhook },
  { to: "/audit", text: "Audit", Icon: ScrollText },
] as const;

const OPEN_ERRORS_MAX = 99;
const compact = new Intl.NumberFormat(undefined, { notation: "compact" });

function useCounts(): Readonly<Record<string, string | undefined>> {
  const { data: health } = useQuery(healthQuery);
  const sources = Object.values(useQuery(statsQuery).data?.sources ?? {});
  const open = health?.open_errors ?? 0;
  const sum = (of: (source: SourceStats) => number) =>
    compact.format(sources.reduce((total, source) => total + of(source), 0));
  return {
    "/events": sum(({ pending, failed, completed }) => pending + failed + completed),
    "/errors": open > OPEN_ERRORS_MAX ? `${OPEN_ERRORS_MAX}+` : String(open),
    "/runs": String(health?.open_runs ?? 0),
    "/sources": String(sources.length),
    "/queues": sum(({ queued }) => queued ?? 0),
  };
}

function Count({ of }: { of: string | undefined }) {
  return of === undefined || of === "0" ? null : <span className="count">{of}</span>;
}

function Who() {
  const { user, role, via } = useSession();
  const client = useQueryClient();
  const signOut = useMutation({
    mutationFn: () => request("delete /session", {}),
    onSuccess: () => setSession(client, null),
    onError: (error) => notify(<ErrorNote error={error} />),
  });
  const name = personName({ actor: user, via });
  return (
    <div className="who">
      <span>
        {name}
        <span className="quiet"> · {role}</span>
      </span>
      <ShortcutHelp />
      {via === "session" && (
        <button
          className="icon"
          aria-label="Sign out"
          onClick={() => signOut.mutate()}
          disabled={signOut.isPending}
        >
          <LogOut />
        </button>
      )}
    </div>
  );
}

const KEYS = [
  ["⌘K", "Go to a page, a source, or an error, or search events (Ctrl-K)"],
  ["/", "Search"],
  ["j", "Next event of the list"],
  ["k", "Previous event of the list"],
  ["p", "Show the event next to the list, or hide it"],
  ["Enter", "Open the event"],
  ["r", "Retry the selected events, or the failed one that has the focus or is open"],
  ["?", "This help"],
] as const;

function ShortcutHelp() {
  const [shown, setShown] = useState(false);
  const [on, turn] = useShortcutsOn();
  useShortcuts({ "?": () => setShown(true) });
  return (
    <>
      <button className="icon" onClick={() => setShown(true)} aria-label="Keyboard shortcuts">
        <Keyboard />
      </button>
      {shown && (
        <Modal title="Keyboard shortcuts" onClose={() => setShown(false)}>
          <dl className="keys">
            {KEYS.map(([key, meaning]) => (
              <Fact key={key} name={<kbd>{key}</kbd>}>
                {meaning}
              </Fact>
            ))}
          </dl>
          <label className="check">
            <input type="checkbox" checked={on} onChange={({ target }) => turn(target.checked)} />
            Use these keys in this browser
          </label>
          <div className="actions">
            <button onClick={() => setShown(false)}>Close</button>
          </div>
        </Modal>
      )}
    </>
  );
}

type Item = Omit<HealthItem, "id">;

/** It has a fixed height and scrolls in itself, so that no news moves the page. */
function HealthStrip() {
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
