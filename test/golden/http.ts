export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: object }>>;
  };
}

interface Operation {
  readonly parameters?: readonly unknown[];
  readonly requestBody?: unknown;
  readonly responses: object;
}

export function operations({ paths, components }: Document): string[] {
  const json = (part: unknown) =>
    JSON.stringify(part, (name, value) =>
      typeof value === "string" && ["description", "title"].includes(name) ? undefined : value,
    );
  const lines = (parts: object) =>
    Object.entries(parts).map(([name, part]) => `  ${name} ${json(part)}`);
  return [
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { parameters = [], requestBody, responses }]) => [
        `${method.toUpperCase()} ${path}`,
        ...parameters.map((parameter) => `  ${json(parameter)}`),
        ...lines(requestBody === undefined ? responses : { request: requestBody, ...responses }),
      ]),
    ),
    ...Object.entries(components.schemas).flatMap(([name, { properties = {}, ...schema }]) => [
      `${name} ${json(schema)}`,
      ...lines(properties),
    ]),
  ];
}

export async function answer(request: string, url: string, init?: RequestInit): Promise<string[]> {
  const response = await fetch(url, init);
  const type = response.headers.get("content-type")?.split(";")[0] ?? "";
  const text = await response.text();
  // Readiness names its parts in the order in which they answered.
  const body = type === "application/json" ? valueFields(JSON.parse(text)).toSorted() : [type];
  return [`${request} ${response.status}`, ...body.map((field) => `  ${field}`)];
}

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
