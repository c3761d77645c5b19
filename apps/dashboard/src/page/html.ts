/** Text that may stand in a page as it is. */
export interface Html {
  readonly html: string;
}

type Value = Html | string | number | null | undefined | readonly Value[];

/** A template whose values are escaped, unless they are `Html` themselves; lists are joined. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { html: String.raw({ raw: strings }, ...values.map(render)) };
}

function render(value: Value): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string" || typeof value === "number") return escape(String(value));
  if ("html" in value) return value.html;
  return value.map(render).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escape = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
