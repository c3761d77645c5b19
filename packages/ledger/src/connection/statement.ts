import type pg from "pg";

type Statement = (values: Readonly<Record<string, unknown>>) => pg.QueryConfig;

/** `:run` in the text of a statement, but neither `::text` nor a colon in a word or a time. */
const PARAMETER = /(?<![:\w]):([a-z][A-Za-z]*)/g;

/**
 * A statement with named parameters: `:run` in its text is the value `run`. With a `name` it is
 * prepared on each connection.
 * @throws `Error` when a value is missing
 */
export function statement(text: string, name?: string): Statement {
  const parameters: string[] = [];
  const numbered = text.replaceAll(PARAMETER, (_, parameter: string) => {
    if (!parameters.includes(parameter)) parameters.push(parameter);
    return `$${parameters.indexOf(parameter) + 1}`;
  });
  return (values) => ({
    ...(name === undefined ? {} : { name }),
    text: numbered,
    values: parameters.map((parameter) => {
      const value = values[parameter];
      if (value !== undefined || parameter in values) return value;
      throw new Error(`Cannot run ${name ?? text}: no value for ":${parameter}"`);
    }),
  });
}

/** A statement that names today's partition (UTC), so that Postgres locks no other. */
export function dailyStatement(text: (day: string) => string, name: string): () => Statement {
  let built: { readonly day: string; readonly run: Statement } | undefined;
  return () => {
    const day = new Date().toISOString().slice(0, 10);
    if (built?.day !== day) built = { day, run: statement(text(day), `${name}_${day}`) };
    return built.run;
  };
}
