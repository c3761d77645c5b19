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
import { MillraceError } from "@millrace/core";
import express, { type Request, type Response, type Router } from "express";

/** A call of the API as its handler gets it: path, query and body are read. */
export interface Call<Name extends OperationName> {
  readonly params: Readonly<Record<ParameterOf<Name>, string>>;
  readonly query: ReadQueryOf<Name>;
  readonly body: ReadBodyOf<Name>;
  readonly request: Request;
  readonly response: Response;
}

const BODY_BYTES_MAX = 16 * 1024;

/**
 * Adds the route of an operation. What its handler returns is what the contract says that it
 * answers; a download its handler sends. A query or body that is not as the contract has it is
 * refused with `invalid_request`.
 */
export function serve<Name extends OperationName>(
  router: Router,
  name: Name,
  handle: (call: Call<Name>) => AnswerOf<Name> | Promise<AnswerOf<Name>>,
): void {
  const { query, body, bodyBytesMax = BODY_BYTES_MAX, download }: Operation = OPERATIONS[name];
  const { method, path } = splitName(name);
  const parsers = body === undefined ? [] : [express.json({ limit: bodyBytesMax })];
  router[method](path, ...parsers, async (request: Request, response: Response) => {
    const call = {
      params: request.params,
      query: query && readRequest(query, { ...request.query }),
      body: body && readRequest(body, request.body ?? {}),
      request,
      response,
    };
    // The table that the values were read by is the one that the types are made from.
    const answer = await handle(call as unknown as Call<Name>);
    if (download === true) return;
    if (answer === undefined) response.status(204).end();
    else response.json(answer);
  });
}

/** Answers 405 `method_not_allowed`, with `Allow`, for what the routes added before do not take. */
export function refuseOtherMethods(router: Router): void {
  for (const [path, methods] of methodsOf(router)) {
    const allow = [...methods].join(", ");
    router.all(path, (request, response) => {
      response.set("Allow", allow);
      throw new MillraceError(
        "method_not_allowed",
        `Cannot ${request.method} here: this path takes ${allow}`,
      );
    });
  }
}

/** Each path with its methods; Express answers a HEAD by what takes a GET. */
function methodsOf(router: Router): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const { route } of router.stack) {
    if (route === undefined) continue;
    const methods = found.get(route.path) ?? new Set();
    for (const { method } of route.stack) {
      methods.add(method.toUpperCase());
      if (method === "get") methods.add("HEAD");
    }
    found.set(route.path, methods);
  }
  return found;
}
