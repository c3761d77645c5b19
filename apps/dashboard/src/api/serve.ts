import {
  OPERATIONS,
  readRequest,
  splitName,
  type AnswerOf,
  type Operation,
  type OperationName,
  type ParameterOf,
  type ReadBodyOf,
  type ReadQueryOf,
} from "@millrace/api-contract";
import { MillraceError, stringifyJson } from "@millrace/core";
import express, { type Request, type Response, type Router } from "express";

export interface Call<Name extends OperationName> {
  readonly params: Readonly<Record<ParameterOf<Name>, string>>;
  readonly query: ReadQueryOf<Name>;
  readonly body: ReadBodyOf<Name>;
  readonly request: Request;
  readonly response: Response;
}

const BODY_BYTES_MAX = 16 * 1024;

/** Adds the route of an operation. A query or body against the contract is an `invalid_request`. */
export function serve<Name extends OperationName>(
  router: Router,
  name: Name,
  handle: (call: Call<Name>) => AnswerOf<Name> | Promise<AnswerOf<Name>>,
): void {
  const { query, body, bodyBytesMax = BODY_BYTES_MAX, download }: Operation = OPERATIONS[name];
  const { method, path } = splitName(name);
  const parsers = body === undefined ? [] : [express.json({ limit: bodyBytesMax })];
  router[method](path, ...parsers, async (request: Request, response: Response) => {
    const asked = query && readRequest(query, { ...request.query });
    const { params } = request;
    const eventId: unknown = asked && "event_id" in asked ? asked.event_id : undefined;
    const isNamed = eventId !== undefined && "eventId" in params;
    const call = {
      params: isNamed ? { ...params, eventId } : params,
      query: asked,
      body: body && readRequest(body, request.body ?? {}),
      request,
      response,
    };
    // The types are inferred from the schemas that read the values.
    const answer = await handle(call as unknown as Call<Name>);
    if (download === true) return;
    if (answer === undefined) response.status(204).end();
    else response.type("json").send(stringifyJson(answer));
  });
}

/** Answers 405 `method_not_allowed`, with `Allow`, to other methods of the routes added before. */
export function refuseOtherMethods(router: Router): void {
  const routes = router.stack.flatMap(({ route }) => route ?? []);
  for (const path of new Set(routes.map((route) => route.path))) {
    // Express answers a HEAD by the route of a GET.
    const methods = routes
      .filter((route) => route.path === path)
      .flatMap(({ stack }) => stack.map(({ method }) => method.toUpperCase()))
      .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : method));
    const allow = [...new Set(methods)].join(", ");
    router.all(path, (request, response) => {
      response.set("Allow", allow);
      throw new MillraceError(
        "method_not_allowed",
        `Cannot ${request.method} here: this path takes ${allow}`,
      );
    });
  }
}
