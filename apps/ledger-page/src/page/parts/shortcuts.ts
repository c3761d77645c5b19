import { useEffect, useRef, useState } from "react";

const STORED = "millrace.shortcuts";

/** Kept in this browser. Speech input can need them off. */
export function useShortcutsOn(): readonly [on: boolean, turn: (on: boolean) => void] {
  const [on, setOn] = useState(areOn);
  const turn = (to: boolean) => {
    if (to) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, "off");
    setOn(to);
  };
  return [on, turn];
}

const areOn = (): boolean => localStorage.getItem(STORED) !== "off";

/** No shortcut works while a user types or a dialog is open. */
export function useShortcuts(shortcuts: Readonly<Record<string, () => void>>): void {
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (!areOn() || isTyping(event.target) || document.querySelector("dialog[open]")) return;
      const run = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (run === undefined) return;
      event.preventDefault();
      run();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
