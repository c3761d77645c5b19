import type { EventDetail } from "@millrace/api-contract";
import { CopyButton } from "../parts/copy-button.tsx";

/** The headers that were kept with the body; a signature never is. */
export function Headers({ event: { headers } }: { event: EventDetail }) {
  const given = Object.entries(headers);
  return (
    <section aria-labelledby="headers" className="panel">
      <div className="panel-head">
        <h2 id="headers">Headers</h2>
        {given.length > 0 && (
          <CopyButton
            text={given.map(([name, value]) => `${name}: ${value}`).join("\n")}
            what="the headers"
          />
        )}
      </div>
      {given.length === 0 ? (
        <p className="quiet">No headers are kept for this provider. Signatures are never kept.</p>
      ) : (
        <dl className="headers">
          {given.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
