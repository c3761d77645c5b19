import { MillraceError } from "@millrace/core";
import type { Router } from "express";

/** Answers 405 `method_not_allowed` for what the routes of a path, added before, did not take. */
export function refuseOtherMethods(router: Router, path: string, allow: string): void {
  router.all(path, (request, response) => {
    response.set("Allow", allow);
    throw new MillraceError(
      "method_not_allowed",
      `Cannot ${request.method} here: this path takes ${allow}`,
    );
  });
}
