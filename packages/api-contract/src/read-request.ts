import { MillraceError } from "@millrace/core";
import type { z } from "zod";

/**
 * Reads the query or the body of a call.
 *
 * @throws `invalid_request` with every problem and its key.
 */
export function readRequest<Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
): z.output<Schema> {
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  const problems = read.error.issues.map(
    ({ path, message }) => `${path.join(".") || "request"}: ${message}`,
  );
  throw new MillraceError("invalid_request", `Cannot read the request: ${problems.join("; ")}`);
}
