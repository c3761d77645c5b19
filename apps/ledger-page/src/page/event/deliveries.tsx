import type { EventDetail } from "@millrace/api-contract";
import { countOf } from "../parts/count.ts";
import { ExactTime } from "../parts/time.tsx";

/** The number of deliveries of the event, and the last of them. */
export function Deliveries({ event: { deliveries } }: { event: EventDetail }) {
  const { total, recent } = deliveries;
  if (total < 2) return null;
  return (
    <section aria-labelledby="deliveries" className="panel">
      <h2 id="deliveries">Deliveries</h2>
      <p className="quiet">
        Delivered {countOf(total, "time")}
        {total > recent.length && `; the last ${recent.length} are listed`}. A repeat is counted
        about a second after it came.
      </p>
      <ul className="generations">
        {recent.map(({ at, outcome, ingress }, place) => (
          <li key={place}>
            <span>{outcome}</span>
            <ExactTime at={at} />
            {ingress !== null && <span className="quiet">{ingress}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
