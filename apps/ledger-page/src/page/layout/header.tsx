import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { NavLink } from "react-router";
import { forgetData, healthQuery, SESSION_KEY } from "../api/queries.ts";
import { request } from "../api/request.ts";
import icon from "../icon.svg";
import { notify } from "../parts/notice.tsx";
import { useSession } from "../session/session.ts";
import { ShortcutHelp } from "./shortcut-help.tsx";

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
