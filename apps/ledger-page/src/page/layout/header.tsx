import { useQuery } from "@tanstack/react-query";
import { NavLink } from "react-router";
import { healthQuery } from "../api/queries.ts";
import { Mark } from "./mark.tsx";
import { ShortcutHelp } from "./shortcut-help.tsx";
import { Who } from "./who.tsx";

/** Where one can go, and who one is. */
export function Header() {
  const openErrors = useOpenErrors();
  return (
    <header className="header">
      <NavLink to="/" className="brand">
        <Mark />
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

/** ` (3)`: how many groups of errors are open, as the health strip's answer has it. */
function useOpenErrors(): string {
  const open = useQuery(healthQuery).data?.open_errors ?? 0;
  if (open === 0) return "";
  return open > 99 ? " (99+)" : ` (${open})`;
}
