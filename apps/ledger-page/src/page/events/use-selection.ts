import type { EventRow } from "@millrace/api-contract";
import { useRef, useState } from "react";
import { keyOf } from "./use-steady-rows.ts";

/** The rows of a page that are ticked. */
export interface Selection {
  readonly rows: readonly EventRow[];
  has(row: EventRow): boolean;
  /**
   * Ticks a row, or takes its tick off; `through` does so to all from the row that was ticked
   * before it.
   */
  toggle(row: EventRow, through: boolean): void;
  /** Ticks all rows of the page, or none. */
  all(on: boolean): void;
}

/** Ticks the rows of a `list`; another list, or page, begins without ticks. */
export function useSelection(rows: readonly EventRow[], list: string): Selection {
  const [ticked, setTicked] = useState({ list, keys: NONE });
  const last = useRef<string>(undefined);
  const keys = ticked.list === list ? ticked.keys : NONE;
  const set = (changed: ReadonlySet<string>) => setTicked({ list, keys: changed });
  return {
    rows: rows.filter((row) => keys.has(keyOf(row))),
    has: (row) => keys.has(keyOf(row)),
    toggle: (row, through) => {
      const order = rows.map(keyOf);
      const to = order.indexOf(keyOf(row));
      const from = through && last.current !== undefined ? order.indexOf(last.current) : -1;
      const start = from < 0 ? to : Math.min(from, to);
      const changed = new Set(keys);
      const on = !keys.has(keyOf(row));
      for (const key of order.slice(start, Math.max(from, to) + 1)) {
        if (on) changed.add(key);
        else changed.delete(key);
      }
      last.current = keyOf(row);
      set(changed);
    },
    all: (on) => set(on ? new Set(rows.map(keyOf)) : NONE),
  };
}

const NONE: ReadonlySet<string> = new Set();
