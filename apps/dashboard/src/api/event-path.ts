import { MillraceError } from "@millrace/core";
import type { EventLookup } from "@millrace/ledger";
import type { Request } from "express";
import { z } from "zod";

const generation = z
  .string()
  .regex(/^\d{1,9}$/)
  .transform(Number)
  .optional();
/** What a path that names an event takes besides. */
export const generationQuerySchema = z.strictObject({ generation });

/**
 * Which event `/events/:source/:eventId` names: the id URL-encoded, the latest generation unless
 * `?generation=` names one.
 *
 * @throws `invalid_request`
 */
export function parseEventPath(request: Request): EventLookup {
  const query = generationQuerySchema.safeParse({ ...request.query });
  if (!query.success) {
    throw new MillraceError(
      "invalid_request",
      "Cannot find the event: the query may hold `generation`, a number from 0, and nothing else",
    );
  }
  const { source, eventId } = request.params;
  return { source: String(source), eventId: String(eventId), ...query.data };
}
