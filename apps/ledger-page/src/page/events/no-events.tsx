import { Link } from "react-router";
import { CopyButton } from "../parts/copy-button.tsx";
import { eventLink, isFiltered, type ListFilter } from "./list-filter.ts";

interface Props {
  readonly filter: ListFilter;
  readonly sources: readonly string[];
}

/** The text of an empty list, with a command to try. */
export function NoEvents({ filter, sources }: Props) {
  if (!isFiltered(filter)) return <EmptyLedger sources={sources} />;
  const { q } = filter;
  return (
    <div className="empty">
      <h3>No matching events</h3>
      {q === undefined ? (
        <p>Widen or clear the filter.</p>
      ) : (
        <>
          <p>
            No event in the ledger has an ID that starts with <code>{q}</code>. The search is
            case-sensitive. An event that no worker has recorded yet is only in its queue:
          </p>
          <ul className="links">
            {(filter.source === undefined ? sources : [filter.source]).map((source) => (
              <li key={source}>
                <Link to={eventLink(source, q)}>Look in the queue of {source}</Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function EmptyLedger({ sources }: { sources: readonly string[] }) {
  const command = sampleCommand(sources);
  return (
    <div className="empty">
      <h3>No events yet</h3>
      <p>Send a sample event with a valid signature:</p>
      <p className="command">
        <code>{command}</code> <CopyButton text={command} what="the command" />
      </p>
    </div>
  );
}

// Without a type the source's provider sends its usual sample.
const sampleCommand = ([source]: readonly string[]): string =>
  `npx millrace send ${source ?? "<source>"}`;
