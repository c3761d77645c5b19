import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useSearchParams } from "react-router";
import { statsQuery } from "../api/queries.ts";

/**
 * The fields of a list in the URL. A change of one begins at the first page, which has no `place`.
 */
export function useUrlFields(place: string) {
  const [query, setQuery] = useSearchParams();
  return {
    given: (key: string) => query.get(key) ?? undefined,
    change: (key: string, value: string, replace = false) => {
      const next = new URLSearchParams(query);
      next.delete(place);
      if (value === "") next.delete(key);
      else next.set(key, value);
      setQuery(next, { replace });
    },
  };
}

/** The form of the fields that narrow a list. */
export function Filters({ label, children }: { label: string; children: ReactNode }) {
  return (
    <form
      role="search"
      aria-label={label}
      className="filters"
      onSubmit={(event) => event.preventDefault()}
    >
      {children}
    </form>
  );
}

/** Chooses one of the sources that the ledger or the config knows. */
export function SourceFilter({ value, onChange }: Pick<SelectFieldProps, "value" | "onChange">) {
  const { data } = useQuery(statsQuery);
  const options = Object.keys(data?.sources ?? {});
  return <SelectField label="Source" any="All sources" {...{ value, options, onChange }} />;
}

/** Milliseconds without a key before what was typed counts. */
const PAUSE_MS = 350;

interface TextFilterProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly name?: string;
  readonly listId?: string;
  /** `replace` while the same typing goes on, so that Back leaves the whole of it. */
  readonly onChange: (value: string, replace: boolean) => void;
}

/** A text that narrows the list as it is typed. */
export function TextFilter({ label, placeholder, value, name, listId, onChange }: TextFilterProps) {
  const [typed, setTyped] = useState(value);
  const typing = useRef({ timer: 0, goesOn: false, sent: value });

  // Back, Clear and links change it from outside.
  useEffect(() => {
    if (value === typing.current.sent) return;
    typing.current.sent = value;
    setTyped(value);
  }, [value]);
  useEffect(() => () => window.clearTimeout(typing.current.timer), []);

  const send = (text: string) => {
    const now = typing.current;
    window.clearTimeout(now.timer);
    if (text === now.sent) return;
    now.sent = text;
    onChange(text, now.goesOn);
    now.goesOn = true;
  };
  return (
    <label className="field">
      <span>{label}</span>
      <input
        type="search"
        name={name}
        value={typed}
        placeholder={placeholder}
        list={listId}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => {
          setTyped(target.value);
          window.clearTimeout(typing.current.timer);
          typing.current.timer = window.setTimeout(() => send(target.value.trim()), PAUSE_MS);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") send(typed.trim());
        }}
        onBlur={() => {
          send(typed.trim());
          typing.current.goesOn = false;
        }}
      />
    </label>
  );
}

interface SelectFieldProps {
  readonly label: string;
  readonly value: string | undefined;
  /** The text for no choice. */
  readonly any: string;
  readonly options: readonly string[];
  readonly textOf?: (option: string) => string;
  readonly onChange: (value: string) => void;
}

/** One of a few values, or none. A value from the URL that is not among them stays seen. */
export function SelectField(props: SelectFieldProps) {
  const { label, value, any, options, textOf = String, onChange } = props;
  const known = value === undefined || options.includes(value) ? options : [...options, value];
  return (
    <label className="field">
      <span>{label}</span>
      <select value={value ?? ""} onChange={(event) => onChange(event.target.value)}>
        <option value="">{any}</option>
        {known.map((option) => (
          <option key={option} value={option}>
            {textOf(option)}
          </option>
        ))}
      </select>
    </label>
  );
}
