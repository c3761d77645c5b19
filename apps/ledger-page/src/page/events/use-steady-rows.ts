import type { EventRow } from "@millrace/api-contract";
import { useState } from "react";

/** The rows to show, and how many newer ones wait to be let in. */
export interface SteadyRows {
  readonly rows: EventRow[];
  readonly waiting: number;
  /** Lets them in. */
  letIn(): void;
}

export const keyOf = (row: EventRow): string =>
  JSON.stringify([row.source, row.event_id, row.generation]);

/**
 * The newest rows, unless the list is held, as under a pointer: then the rows that were there stay
 * where they are, with what is new of each, and those that came since wait. Another `list` is shown
 * at once.
 */
export function useSteadyRows(
  latest: readonly EventRow[] | undefined,
  options: { list: string; held: boolean },
): SteadyRows {
  const [shown, setShown] = useState({ list: options.list, rows: latest ?? NONE });
  const letIn = () => setShown({ list: options.list, rows: latest ?? NONE });
  const isSame = shown.list === options.list && shown.rows.length > 0;
  if (!options.held || !isSame) {
    if (latest !== undefined && latest !== shown.rows) letIn();
    return { rows: [...(latest ?? NONE)], waiting: 0, letIn };
  }
  const known = new Map((latest ?? NONE).map((row) => [keyOf(row), row]));
  const rows = shown.rows.map((row) => known.get(keyOf(row)) ?? row);
  for (const row of shown.rows) known.delete(keyOf(row));
  return { rows, waiting: known.size, letIn };
}

const NONE: readonly EventRow[] = [];
