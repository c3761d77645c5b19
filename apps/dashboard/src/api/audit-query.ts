import { MillraceError } from "@millrace/core";
import { z } from "zod";
import { pageSchema, problemsOf, text } from "./event-query.ts";

/** What `GET /api/audit` takes. */
export const auditQuerySchema = z.strictObject({
  source: text(256).optional(),
  event_id: text(1_024).optional(),
  ...pageSchema,
});

/**
 * Reads the query of `GET /api/audit`.
 *
 * @throws `invalid_request` with every problem and its parameter.
 */
export function parseAuditQuery(query: unknown) {
  const parsed = auditQuerySchema.safeParse({ ...(query as object) });
  if (parsed.success) {
    const { event_id: eventId, ...asked } = parsed.data;
    return { ...asked, eventId };
  }
  throw new MillraceError("invalid_request", `Cannot list the audit: ${problemsOf(parsed.error)}`);
}
