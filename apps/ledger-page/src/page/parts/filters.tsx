import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useSearchParams } from "react-router";
import { statsQuery } from "../api/queries.ts";

/** A change begins at the first page, which has no `place` in the URL. */
export function useUrlFields(place: string) {
  const [query, setQuery] = useSearchParams();
  const given = (key: string) => query.get(key) ?? undefined;
  const change = (key: string, value: string, replace = false) => {
    const next = new URLSearchParams(query);
    next.delete(place);
    if (value === "") next.delete(key);
    else next.set(key, value);
    setQuery(next, { replace });
  };
  const field = (key: string): FieldProps => ({
    value: given(key),
    onChange: (value, replace) => change(key, value, replace),
  });
  return { given, change, field };
}

interface FieldProps {
  readonly value: string | undefined;
  /** `replace` while a user goes on typing, so that Back undoes all of it. */
  readonly onChange: (value: string, replace?: boolean) => void;
}

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

export function SourceFilter(field: FieldProps) {
  const { data } = useQuery(statsQuery);
  const options = Object.keys(data?.sources ?? {});
  return <SelectField label="Source" any="All sources" options={options} {...field} />;
}

/** Milliseconds without a key before the list is read. */
const PAUSE_MS = 350;

interface TextFilterProps extends FieldProps {
  readonly label: string;
  readonly placeholder: string;
  readonly name?: string;
}

export function TextFilter(props: TextFilterProps) {
  const { label, placeholder, value = "", name, onChange } = props;
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

interface SelectFieldProps extends FieldProps {
  readonly label: string;
  /** The text of no value, where that is a choice. */
  readonly any?: string;
  readonly options: readonly string[];
  readonly textOf?: (option: string) => string;
}

/** Keeps a value of the URL that is not among the options. */
export function SelectField(props: SelectFieldProps) {
  const { label, value, any, options, textOf = String, onChange } = props;
  const known = value === undefined || options.includes(value) ? options : [...options, value];
  return (
    <label className="field">
      <span>{label}</span>
      <select value={value ?? ""} onChange={(event) => onChange(event.target.value)}>
        {any !== undefined && <option value="">{any}</option>}
        {known.map((option) => (
          <option key={option} value={option}>
            {textOf(option)}
          </option>
        ))}
      </select>
    </label>
  );
}
