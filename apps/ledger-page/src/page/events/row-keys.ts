import type { EventRow } from "@millrace/api-contract";
import { useState } from "react";
import { useShortcuts } from "../parts/shortcuts.ts";
import { useMayWrite } from "../session/session-context.ts";
import type { Selection } from "./use-selection.ts";

/** The links of the list's rows, in order; a row that is gone through has the focus on its link. */
const links = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>(".list td.id a")];

const focusedRow = (): number =>
  links().findIndex((link) => link.closest("tr")?.contains(document.activeElement) === true);

function step(by: 1 | -1): void {
  const rows = links();
  const at = focusedRow();
  const to = at < 0 ? (by === 1 ? 0 : rows.length - 1) : at + by;
  rows[to]?.focus();
}

/**
 * The keys of the list, and what a person is about to retry: what is ticked, else the failed row
 * that has the focus.
 */
export function useRetryKeys(rows: readonly EventRow[], selection: Selection) {
  const mayWrite = useMayWrite();
  const [toRetry, setToRetry] = useState<readonly EventRow[]>();
  useShortcuts({
    "/": () => document.querySelector<HTMLElement>(".filters input[name=q]")?.focus(),
    j: () => step(1),
    k: () => step(-1),
    r: () => {
      const at = focusedRow();
      const chosen =
        selection.rows.length > 0 ? selection.rows : at < 0 ? [] : rows.slice(at, at + 1);
      if (mayWrite && chosen.some(({ status }) => status === "failed")) setToRetry(chosen);
    },
  });
  return { toRetry, setToRetry };
}
