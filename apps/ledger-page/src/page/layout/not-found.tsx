import { Link } from "react-router";
import { useTitle } from "../parts/use-title.ts";

/** The text at a path that the page does not have. */
export function NotFound() {
  useTitle("Not found");
  return (
    <div className="empty">
      <h1>Page not found</h1>
      <p>
        Go to <Link to="/">the ledger</Link> or <Link to="/audit">the audit</Link>.
      </p>
    </div>
  );
}
