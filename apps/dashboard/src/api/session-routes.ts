import { MillraceError } from "@millrace/core";
import express, { Router } from "express";
import { z } from "zod";
import { unauthorized, type Door } from "../security/door.ts";
import { clearSessionCookie, setSessionCookie } from "../security/session-cookie.ts";
import { problemsOf } from "./event-query.ts";
import { refuseOtherMethods } from "./refuse-methods.ts";

/** What `POST /api/session` takes. */
export const signInSchema = z.strictObject({
  user: z.string().min(1).max(256),
  password: z.string().min(1).max(1_024),
});

/** Who asks, signing in and signing out: the one part of the API that stands before the guard. */
export function createSessionRoutes(door: Door): Router {
  const router = Router();
  router.get("/session", (request, response) => {
    const principal = door.identify(request, response);
    if (principal === undefined) throw unauthorized(response, "Cannot tell who asks: sign in");
    response.json(principal);
  });
  router.post("/session", express.json({ limit: "16kb" }), (request, response) => {
    const parsed = signInSchema.safeParse(request.body ?? {});
    if (!parsed.success) {
      throw new MillraceError("invalid_request", `Cannot sign in: ${problemsOf(parsed.error)}`);
    }
    const { session, principal } = door.signIn(request, response, parsed.data);
    setSessionCookie(request, response, session);
    response.json(principal);
  });
  router.delete("/session", (_request, response) => {
    clearSessionCookie(response);
    response.status(204).end();
  });
  refuseOtherMethods(router);
  return router;
}
