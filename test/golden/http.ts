import { valueFields, schemaFields, type Schema } from "./shape.ts";

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

/** An OpenAPI document, as far as it is read here. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Paths, parameters and fields of an OpenAPI document, one a line. */
export function operations(document: Document): string[] {
  const resolve = (ref: string): Schema => {
    const found = document.components.schemas[ref.replace("#/components/schemas/", "")];
    if (found === undefined) throw new Error(`Cannot resolve ${ref} in the API's document`);
    return found;
  };
  const bodies = (title: string, { content = {} }: Content): string[] =>
    Object.entries(content).flatMap(([type, { schema }]) => [
      `  ${title}${type === "application/json" ? "" : ` ${type}`}`,
      ...schemaFields(schema, resolve).map((field) => `    ${field.trim()}`),
    ]);
  return Object.entries(document.paths)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([path, of]) =>
      Object.entries(of).flatMap(([method, { parameters = [], requestBody, responses }]) => [
        `${method.toUpperCase()} ${path}`,
        ...parameters.flatMap(({ name, in: place, required, schema }) =>
          schemaFields(schema, resolve).map(
            (field) => `  ${place} ${name}${required === true ? "" : "?"} ${field.trim()}`,
          ),
        ),
        ...bodies("request", requestBody ?? {}),
        ...Object.entries(responses).flatMap(([status, response]) => {
          const lines = bodies(status, response);
          return lines.length === 0 ? [`  ${status}`] : lines;
        }),
      ]),
    );
}

/** Status and fields of an answer. */
export async function answer(request: string, url: string, init?: RequestInit): Promise<string[]> {
  const response = await fetch(url, init);
  const type = response.headers.get("content-type")?.split(";")[0] ?? "";
  const text = await response.text();
  // Readiness names its parts in the order in which they answered.
  const body = type === "application/json" ? valueFields(JSON.parse(text)).toSorted() : [type];
  return [`${request} ${response.status}`, ...body.map((field) => `  ${field}`)];
}
