import { MillraceError, type LockedEvent } from "@millrace/core";
import type pg from "pg";

/** The headers and the body of an event, as its handlers get them. */
export type EventContent = Pick<LockedEvent, "headers" | "body">;

interface BodyRow {
  readonly headers: Record<string, string> | null;
  readonly body: Buffer | null;
}

export type ContentRow = BodyRow & {
  readonly body_day: string;
  readonly body_id: string;
  /** The event's own, if it has its body in common with another one. */
  readonly own_headers: Record<string, string> | null;
};

/** The columns of a `ContentRow`, of an event `e` and its body `b`. */
export const CONTENT = "e.body_day::text AS body_day, e.body_id, e.own_headers, b.headers, b.body";

/**
 * Looks the body up in one day's partition: a plan over all of them would lock each of them. If it
 * is in another one, the row comes without it and `READ_BODY` reads it.
 */
export const BODY_OF = (day: string) => `LEFT JOIN millrace.bodies b
  ON b.day = DATE '${day}' AND b.id = e.body_id AND e.body_day = b.day`;

const READ_BODY = `SELECT headers, body FROM millrace.bodies WHERE day = $1::date AND id = $2`;

export async function readContent(client: pg.PoolClient, row: ContentRow): Promise<EventContent> {
  const content = toContent(row, row);
  if (content !== undefined) return content;
  const { rows } = await client.query<BodyRow>(READ_BODY, [row.body_day, row.body_id]);
  const moved = rows[0] && toContent(rows[0], row);
  if (moved !== undefined) return moved;
  throw new MillraceError(
    "body_missing",
    `Cannot read the event's body: it is not among the bodies of ${row.body_day}`,
  );
}

function toContent(
  { headers, body }: BodyRow,
  { own_headers: own }: ContentRow,
): EventContent | undefined {
  return headers === null || body === null ? undefined : { headers: own ?? headers, body };
}
