import { createDocument } from "@millrace/api-contract";
import { Router } from "express";
import { unauthorized, type Authenticator } from "../security/authenticator.ts";
import { clearSessionCookie, setSessionCookie } from "../security/sessions.ts";
import { refuseOtherMethods, serve } from "./serve.ts";

/**
 * The part of the API that stands before the guard: who asks, signing in and out, and the document
 * of the API, which holds no data.
 */
export function createOpenRoutes(authenticator: Authenticator): Router {
  const router = Router();
  serve(router, "get /session", async ({ request, response }) => {
    const principal = await authenticator.identify(request, response);
    if (principal === undefined) throw unauthorized(response, "Cannot identify the user: sign in");
    return principal;
  });
  serve(router, "post /session", async ({ request, response, body }) => {
    const { session, principal } = await authenticator.signIn(request, response, body);
    setSessionCookie(request, response, session);
    return principal;
  });
  serve(router, "delete /session", async ({ request, response }) => {
    await authenticator.signOut(request);
    clearSessionCookie(response);
  });
  const document = createDocument();
  serve(router, "get /openapi.json", () => document);
  refuseOtherMethods(router);
  return router;
}
