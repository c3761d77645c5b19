import { isStorable, MillraceError, REASON_LENGTH_MAX } from "@millrace/core";
import type { Actor } from "@millrace/operations";
import type { Request } from "express";
import { z } from "zod";
import { principalOf } from "../security/guard.ts";
import { problemsOf } from "./event-query.ts";

/** Why something is done, for the audit. */
export const reason = z
  .string()
  .trim()
  .min(1)
  .max(REASON_LENGTH_MAX)
  .refine(isStorable, "must not hold a NUL, or half a character");

/** What a write takes that needs to be told nothing else. */
export const reasonBodySchema = z.strictObject({ reason: reason.optional() });

/**
 * Who asks for a write of one event or one source, and why.
 *
 * @throws `invalid_request` with every problem and its key.
 */
export function actorOf(request: Request): Actor {
  const parsed = reasonBodySchema.safeParse(request.body ?? {});
  if (parsed.success) return { ...principalOf(request), ...parsed.data };
  throw new MillraceError("invalid_request", `Cannot do this: ${problemsOf(parsed.error)}`);
}
