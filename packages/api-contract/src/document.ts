import { meaningOf, statusOf, type ErrorCode } from "@millrace/core";
import { z } from "zod";
import { OPERATIONS, splitName, type AnswerOf, type Operation } from "./operations.ts";

type Json = Readonly<Record<string, unknown>>;

/** Makes the API's description (OpenAPI 3.1) of the schemas of its requests and answers. */
export function createDocument(): AnswerOf<"get /openapi.json"> {
  const paths: Record<string, Record<string, Json>> = {};
  const schemas: Record<string, Json> = {};
  for (const [name, operation] of Object.entries<Operation>(OPERATIONS)) {
    const { method, path } = splitName(name);
    const template = `/api${path.replaceAll(/:(\w+)/g, "{$1}")}`;
    paths[template] = { ...paths[template], [method]: describe(name, operation) };
    const [title, schema] = operation.answer ?? [];
    if (title !== undefined && schema !== undefined) schemas[title] = toSchema(schema, "output");
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Millrace dashboard",
      version: "1",
      description:
        "Events, their retry and replay, and how things stand. Errors are " +
        '`{"error":{"code","message","docs"}}`, with a code that never changes its meaning.',
    },
    paths,
    components: { schemas, securitySchemes: SECURITY_SCHEMES },
  };
}

const SECURITY_SCHEMES: Json = {
  token: { type: "http", scheme: "bearer", description: "DASHBOARD_TOKENS and the others" },
  session: {
    ...{ type: "apiKey", in: "cookie", name: "millrace_session" },
    description: "Set by signing in; over TLS its name begins with `__Host-`.",
  },
};

function describe(name: string, operation: Operation): Json {
  const { method, path } = splitName(name);
  const { summary, who, body } = operation;
  return {
    operationId: idOf(method, path),
    summary,
    security: who === "anyone" ? [] : [{ token: [] }, { session: [] }],
    ...(who !== "anyone" && { "x-role": who }),
    parameters: [...pathParameters(path), ...queryParameters(operation)],
    ...(body !== undefined && {
      requestBody: {
        required: !body.safeParse({}).success,
        content: json(toSchema(body, "input")),
      },
    }),
    responses: { ...success(operation), ...refusals(errorsOf(method, operation)) },
  };
}

/** `post /events/:source/:eventId/retry` is `postEventsSourceEventIdRetry`. */
const idOf = (method: string, path: string): string =>
  method +
  path
    .split(/[^A-Za-z]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
  }));
}

function queryParameters({ query }: Operation): Json[] {
  if (query === undefined) return [];
  const { properties, required } = toSchema(query, "input") as {
    properties: Record<string, Json>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    ...{ name, in: "query", required: required?.includes(name) === true, schema },
  }));
}

function success({ answer, download, starts }: Operation): Json {
  if (download === true) {
    const schema = { type: "string", format: "binary" };
    const content = { "application/octet-stream": { schema } };
    return { 200: { description: "The bytes.", content } };
  }
  if (answer === undefined) return { 204: { description: "Done." } };
  const [name] = answer;
  const content = json({ $ref: `#/components/schemas/${name}` });
  const done = { description: name, content };
  return starts === true ? { 200: done, 202: done } : { 200: done };
}

function errorsOf(method: string, { who, query, errors = [] }: Operation): readonly ErrorCode[] {
  const codes = [...errors];
  if (query !== undefined) codes.push("invalid_request");
  if (who !== "anyone") codes.push("unauthorized", "too_many_failures", "unavailable");
  if (method !== "get") codes.push("unsupported_media_type");
  if (method === "post") codes.push("invalid_request", "body_too_large");
  // `forbidden` is also the answer to a request that names another host.
  return [...codes, "forbidden", "internal"];
}

function refusals(codes: readonly ErrorCode[]): Json {
  const statuses = [...new Set(codes.map(statusOf))];
  return Object.fromEntries(
    statuses.map((status) => {
      const of = [...new Set(codes)].filter((code) => statusOf(code) === status);
      const meanings = of.map((code) => `\`${code}\`: ${meaningOf(code)}`);
      return [status, { description: meanings.join(" "), content: json(errorSchema(of)) }];
    }),
  );
}

function errorSchema(codes: readonly ErrorCode[]): Json {
  const error = z.strictObject({
    ...{ code: z.enum(codes), message: z.string() },
    docs: z.string().describe("Where the page of errors has the code."),
  });
  return toSchema(z.strictObject({ error }), "output");
}

const json = (schema: Json): Json => ({ "application/json": { schema } });

function toSchema(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema }) => {
      // The format says it; the pattern that zod adds fills half a page.
      if (jsonSchema.format === "date-time") delete jsonSchema.pattern;
    },
  });
  return rest;
}
