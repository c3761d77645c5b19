import { DISAGREEMENT_KINDS, DISAGREEMENTS } from "@millrace/operations";
import type { Comparison } from "../ports.ts";

/** What `GET /api/disagreements` answers: every kind there is, also those of which none was found. */
export function disagreementsJson({ checkedAt, diagnosis }: Comparison) {
  return {
    checked_at: checkedAt.toISOString(),
    pending_checked: diagnosis.pending,
    kinds: DISAGREEMENT_KINDS.map((kind) => {
      const { ledger, job, act } = DISAGREEMENTS[kind];
      const { count, examples } = diagnosis.found.get(kind) ?? { count: 0, examples: [] };
      return {
        kind,
        count,
        meaning: `In the ledger: ${ledger}; its job: ${job}.`,
        mend: `${act.charAt(0).toUpperCase()}${act.slice(1)}.`,
        examples: examples.map(({ source, eventId, generation }) => ({
          ...{ source, event_id: eventId, generation },
        })),
      };
    }),
  };
}
