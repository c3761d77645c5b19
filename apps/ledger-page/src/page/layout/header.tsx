import { NavLink } from "react-router";
import { Mark } from "./mark.tsx";
import { Who } from "./who.tsx";

/** Where one can go, and who one is. */
export function Header() {
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
        <NavLink to="/audit">Audit</NavLink>
        {/* bull-board is a page of its own, which this router does not know. */}
        <a href="/queues">Queues</a>
      </nav>
      <Who />
    </header>
  );
}
