import type { EventDetail } from "@millrace/api-contract";
import { countOf } from "../parts/count.ts";
import { Time } from "../parts/time.tsx";

/** Deliveries of this id with another body than the first, which alone is kept and run. */
export function Conflicts({ event: { conflicts } }: { event: EventDetail }) {
  if (conflicts.length === 0) return null;
  return (
    <section aria-labelledby="conflicts" className="panel">
      <h2 id="conflicts">Different bodies with this ID</h2>
      <p className="quiet">Only the first body is stored and processed. These arrived later.</p>
      <ul className="generations">
        {conflicts.map((conflict) => (
          <li key={conflict.body_hash}>
            <code>{conflict.body_hash}</code>
            <span>received {countOf(conflict.deliveries, "time")}</span>
            <Time at={conflict.last_seen_at} />
          </li>
        ))}
      </ul>
    </section>
  );
}
