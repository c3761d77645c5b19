/** A JSON Schema, as far as OpenAPI documents of ours use it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
}

/**
 * The fields of a schema, one a line: `events[].status "pending" | "failed"`. References are
 * followed, so the names of components do not matter. An optional field ends with `?`.
 */
export function schemaFields(schema: Schema, resolve: (ref: string) => Schema): string[] {
  const walk = (at: string, given: Schema): string[] => {
    const all = alternatives(given, resolve);
    const scalars = all.filter((one) => !isObject(one) && one.items === undefined);
    const objects = all.filter(isObject);
    const own =
      scalars.length === 0 ? [] : [`${at} ${[...new Set(scalars.map(scalar))].join(" | ")}`];
    return [
      ...own,
      ...all.flatMap(({ items }) => (items === undefined ? [] : walk(`${at}[]`, items))),
      ...objects.flatMap((object, index) =>
        walkObject(objects.length > 1 ? `${at}<${index + 1}>` : at, object),
      ),
    ];
  };
  const walkObject = (at: string, object: Schema): string[] => {
    const fields = Object.entries(object.properties ?? {}).flatMap(([name, field]) => {
      const mark = object.required?.includes(name) === true ? "" : "?";
      return walk(`${at === "" ? "" : `${at}.`}${name}${mark}`, field);
    });
    const { additionalProperties: rest } = object;
    if (typeof rest === "object") return [...fields, ...walk(`${at}.*`, rest)];
    return fields.length === 0 ? [`${at} object`] : fields;
  };
  return walk("", schema);
}

const isObject = (schema: Schema): boolean =>
  schema.properties !== undefined || schema.type === "object";

function alternatives(schema: Schema, resolve: (ref: string) => Schema): Schema[] {
  if (schema.$ref !== undefined) return alternatives(resolve(schema.$ref), resolve);
  const among = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (among !== undefined) return among.flatMap((one) => alternatives(one, resolve));
  if (typeof schema.type !== "object") return [schema];
  return schema.type.map((type) => ({ ...schema, type }));
}

function scalar(schema: Schema): string {
  if (schema.enum !== undefined)
    return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  return typeof schema.type === "string" ? schema.type : "anything";
}

/** The fields of an answer, one a line, with the types that its values have. */
export function valueFields(value: unknown, at = ""): string[] {
  if (Array.isArray(value)) {
    return value.length === 0 ? [`${at}[]`] : valueFields(value[0], `${at}[]`);
  }
  if (typeof value !== "object" || value === null) {
    return [`${at} ${value === null ? "null" : typeof value}`];
  }
  const fields = Object.entries(value);
  if (fields.length === 0) return [`${at} {}`];
  return fields.flatMap(([name, field]) => valueFields(field, at === "" ? name : `${at}.${name}`));
}
