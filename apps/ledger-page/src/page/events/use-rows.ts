import type { EventRow } from "@millrace/api-contract";
import { useRef, useState, type FocusEvent, type PointerEvent } from "react";
import { eventLink } from "../parts/list-filter.ts";
import { useShortcuts } from "../parts/shortcuts.ts";
import { useMayWrite } from "../session/session.ts";

export const keyOf = (row: EventRow): string =>
  JSON.stringify([row.source, row.event_id, row.generation]);

/** While the list is held, its rows stay and new ones wait. Another `list` shows at once. */
export function useSteadyRows(
  latest: readonly EventRow[] = NO_ROWS,
  { list, held }: { list: string; held: boolean },
) {
  const [shown, setShown] = useState({ list, rows: latest });
  const letIn = () => setShown({ list, rows: latest });
  const isSame = shown.list === list && shown.rows.length > 0;
  if (!held || !isSame) {
    if (latest !== shown.rows) letIn();
    return { rows: latest, waiting: 0, letIn };
  }
  const known = new Map(latest.map((row) => [keyOf(row), row]));
  const rows = shown.rows.map((row) => known.get(keyOf(row)) ?? row);
  for (const row of shown.rows) known.delete(keyOf(row));
  return { rows, waiting: known.size, letIn };
}

const NO_ROWS: readonly EventRow[] = [];

/** Holds the list while a user points at it, touches it, or has the focus in it. */
export function useHold() {
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  return {
    held: pointed || focused,
    handlers: {
      onPointerEnter: () => setPointed(true),
      onPointerLeave: () => setPointed(false),
      onPointerCancel: (event: PointerEvent) => setPointed(event.pointerType === "mouse"),
      onFocus: () => setFocused(true),
      onBlur: (event: FocusEvent) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setFocused(false);
      },
    },
  };
}

export type Selection = ReturnType<typeof useSelection>;

/** Another list, or page, begins without ticks. */
export function useSelection(rows: readonly EventRow[], list: string) {
  const [ticked, setTicked] = useState({ list, keys: NO_KEYS });
  const last = useRef<string>(undefined);
  const keys = ticked.list === list ? ticked.keys : NO_KEYS;
  const set = (changed: ReadonlySet<string>) => setTicked({ list, keys: changed });
  return {
    rows: rows.filter((row) => keys.has(keyOf(row))),
    has: (row: EventRow): boolean => keys.has(keyOf(row)),
    /** `through` changes all rows from the one that was ticked before. */
    toggle: (row: EventRow, through: boolean): void => {
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
    all: (on: boolean) => set(on ? new Set(rows.map(keyOf)) : NO_KEYS),
  };
}

const NO_KEYS: ReadonlySet<string> = new Set();

const links = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>(".list td.id a")];

const focusedRow = (): number =>
  links().findIndex((link) => link.closest("tr")?.contains(document.activeElement) === true);

function step(by: 1 | -1): void {
  const rows = links();
  const at = focusedRow();
  const to = at < 0 ? (by === 1 ? 0 : rows.length - 1) : at + by;
  rows[to]?.focus();
}

/** Retries the ticked rows, or else the failed row that has the focus. */
export function useRetryKeys(rows: readonly EventRow[], selection: Selection) {
  const mayWrite = useMayWrite();
  const [toRetry, setToRetry] = useState<readonly EventRow[]>();
  useShortcuts({
    "/": () => document.querySelector<HTMLElement>(".filters input[name=find]")?.focus(),
    j: () => step(1),
    k: () => step(-1),
    r: () => {
      // Queued events stand above the rows, in a table of their own.
      const focused = links()[focusedRow()]?.getAttribute("href");
      const chosen =
        selection.rows.length > 0
          ? selection.rows
          : rows.filter((row) => eventLink(row) === focused);
      if (mayWrite && chosen.some(({ status }) => status === "failed")) setToRetry(chosen);
    },
  });
  return { toRetry, setToRetry };
}
