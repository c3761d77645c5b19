import { MillraceError } from "@millrace/core";
import type { Router } from "express";

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
