import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { NavLink } from "react-router";
import { useState } from "react";
import { forgetData, healthQuery, SESSION_KEY } from "../api/queries.ts";
import { request } from "../api/request.ts";
import icon from "../icon.svg";
import { notify } from "../parts/notice.tsx";
import { useSession } from "../session/session.ts";
import { Modal } from "../parts/dialog.tsx";
import { useShortcuts, useShortcutsOn } from "../parts/shortcuts.ts";

export function Header() {
  const openErrors = useOpenErrors();
  return (
    <header className="header">
      <NavLink to="/" className="brand">
        <img className="mark" src={icon} alt="" width={24} height={24} />
        Millrace
      </NavLink>
      <nav aria-label="Main">
        <NavLink to="/" end>
          Ledger
        </NavLink>
        <NavLink to="/errors">Errors{openErrors}</NavLink>
        <NavLink to="/runs">Runs</NavLink>
        <NavLink to="/audit">Audit</NavLink>
        {/* bull-board is a page of its own, which this router does not know. */}
        <a href="/queues">Queues</a>
      </nav>
      <ShortcutHelp />
      <Who />
    </header>
  );
}

function useOpenErrors(): string {
  const open = useQuery(healthQuery).data?.open_errors ?? 0;
  if (open === 0) return "";
  return open > 99 ? " (99+)" : ` (${open})`;
}

function Who() {
  const { user, role, via } = useSession();
  const client = useQueryClient();
  const signOut = useMutation({
    mutationFn: () => request("delete /session", {}),
    onSuccess: () => {
      client.setQueryData(SESSION_KEY, null);
      forgetData(client);
    },
    onError: (error) => notify({ kind: "error", error }),
  });
  const name = via === "local" ? "local" : (user ?? "token");
  return (
    <div className="who">
      <span>
        {name}
        {name !== role && <span className="quiet"> · {role}</span>}
      </span>
      {via === "session" && (
        <button className="plain" onClick={() => signOut.mutate()} disabled={signOut.isPending}>
          Sign out
        </button>
      )}
    </div>
  );
}

const KEYS = [
  ["/", "Search by ID"],
  ["j", "Next event of the list"],
  ["k", "Previous event of the list"],
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
      <button className="plain" onClick={() => setShown(true)} aria-label="Keyboard shortcuts">
        ?
      </button>
      {shown && (
        <Modal title="Keyboard shortcuts" onClose={() => setShown(false)}>
          <dl className="keys">
            {KEYS.map(([key, meaning]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{meaning}</dd>
              </div>
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
