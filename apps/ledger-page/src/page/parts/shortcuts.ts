import { useEffect, useRef, useSyncExternalStore } from "react";

const STORED = "millrace.shortcuts";
const listeners = new Set<() => void>();

/** Kept in this browser. Speech input can need them off. */
export function useShortcutsOn(): readonly [on: boolean, turn: (on: boolean) => void] {
  return [useSyncExternalStore(subscribe, areOn), turnShortcuts];
}

function turnShortcuts(on: boolean): void {
  if (on) localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, "off");
  for (const listener of listeners) listener();
}

const areOn = (): boolean => localStorage.getItem(STORED) !== "off";

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export type Shortcuts = Readonly<Record<string, () => void>>;

/** No shortcut works while a user types or a dialog is open. */
export function useShortcuts(shortcuts: Shortcuts): void {
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
