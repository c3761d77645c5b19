import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useState, type KeyboardEvent } from "react";
import { useNavigate } from "react-router";
import { errorsQuery, statsQuery } from "../api/queries.ts";
import { Modal } from "../parts/dialog.tsx";
import { writeFilter } from "../parts/list-filter.ts";
import { PLACES } from "./rail.tsx";

/** ⌘K or Ctrl-K, also while a user types: pages, sources, open errors, and a search of events. */
export function Palette() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (!(event.metaKey || event.ctrlKey) || event.shiftKey || event.altKey) return;
      if (event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      if (document.querySelector("dialog[open]") === null) setOpen(true);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  if (!open) return null;
  return (
    <Modal title="Go to" onClose={() => setOpen(false)}>
      <Targets onChosen={() => setOpen(false)} />
    </Modal>
  );
}

interface Target {
  readonly kind: "Page" | "Source" | "Error" | "Events";
  readonly text: string;
  readonly to: string;
}

const keyOf = ({ kind, to }: Target): string => `${kind} ${to}`;

const SHOWN_MAX = 9;
const OPEN_ERRORS = errorsQuery({ state: "open", limit: "200" });

function useTargets(typed: string): readonly Target[] {
  const sources = Object.keys(useQuery(statsQuery).data?.sources ?? {});
  const errors = useQuery(OPEN_ERRORS).data?.errors ?? [];
  const all: readonly Target[] = [
    ...PLACES.map(({ to, text }) => ({ kind: "Page" as const, text, to })),
    ...sources.map((source) => {
      return { kind: "Source" as const, text: source, to: `/events?${writeFilter({ source })}` };
    }),
    ...errors.map(({ title, fingerprint }) => {
      return { kind: "Error" as const, text: title, to: `/errors/${fingerprint}` };
    }),
  ];
  const words = typed.toLowerCase().split(/\s+/);
  const found = all.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)));
  const shown = found.slice(0, SHOWN_MAX);
  if (typed === "") return shown;
  return [...shown, { kind: "Events", text: typed, to: `/events?${writeFilter({ find: typed })}` }];
}

/** Enter goes to the chosen target itself. */
const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, Enter: 0 };

function Targets({ onChosen }: { onChosen: () => void }) {
  const [typed, setTyped] = useState("");
  // By its key: an answer that comes in meanwhile moves it.
  const [picked, setPicked] = useState("");
  const targets = useTargets(typed.trim());
  const navigate = useNavigate();
  const id = useId();
  const chosen = Math.max(
    0,
    targets.findIndex((target) => keyOf(target) === picked),
  );
  useEffect(() => {
    document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [id, chosen]);
  const go = (target: Target) => {
    onChosen();
    void navigate(target.to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    // Enter also ends a word of an input method.
    if (step === undefined || event.nativeEvent.isComposing) return;
    event.preventDefault();
    const target = targets[(chosen + step + targets.length) % targets.length];
    if (target === undefined) return;
    if (step === 0) go(target);
    else setPicked(keyOf(target));
  };
  return (
    <>
      <input
        role="combobox"
        aria-autocomplete="list"
        aria-label="Page, source, error, or a search of events"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={`${id}-${chosen}`}
        placeholder="Page, source, error, or a search of events"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value);
          setPicked("");
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={id} role="listbox" aria-label="Results" className="targets">
        {targets.map((target, index) => (
          <li
            key={keyOf(target)}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => go(target)}
          >
            <span className="quiet">{target.kind === "Events" ? "Find events" : target.kind}</span>
            <span>{target.text}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
