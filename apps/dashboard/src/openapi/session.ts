import { z } from "zod";
import { signInSchema } from "../api/session-routes.ts";
import type { Operation } from "./operation.ts";
import { text } from "./values.ts";

const principal = z.strictObject({
  user: text("Null for a program, and where no credentials are set.").nullable(),
  role: z.enum(["operator", "viewer"]),
  via: z.enum(["session", "token", "local"]),
});

const document = z.looseObject({ openapi: z.literal("3.1.0") });

/** Who asks, signing in and out, and the document itself. */
export const OPEN_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/session",
    summary: "Who asks.",
    who: "anyone",
    answer: ["Principal", principal],
    errors: ["unauthorized", "too_many_failures"],
  },
  {
    method: "post",
    path: "/session",
    summary: "Signs in: the answer sets a cookie, which is good for twelve hours.",
    who: "anyone",
    body: signInSchema,
    answer: ["Principal", principal],
    errors: ["unauthorized", "too_many_failures"],
  },
  {
    method: "delete",
    path: "/session",
    summary: "Signs out: the browser forgets its cookie.",
    who: "anyone",
    answer: undefined,
  },
  {
    method: "get",
    path: "/openapi.json",
    summary: "This document.",
    who: "anyone",
    answer: ["OpenApi", document],
  },
];
