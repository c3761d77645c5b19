import { MillraceError, type LockedEvent } from "@millrace/core";
import type pg from "pg";

export type EventContent = Pick<LockedEvent, "headers" | "body">;

interface BodyRow {
  readonly headers: Record<string, string> | null;
  readonly body: Buffer | null;
}

export type ContentRow = BodyRow & {
  readonly body_day: string;
  readonly body_id: string;
  readonly own_headers: Record<string, string> | null;
};

export const CONTENT = "e.body_day::text AS body_day, e.body_id, e.own_headers, b.headers, b.body";

/** A plan over all days would lock each partition. A moved body is read by `READ_BODY`. */
export const BODY_OF = (day: string) => `LEFT JOIN millrace.bodies b
  ON b.day = DATE '${day}' AND b.id = e.body_id AND e.body_day = b.day`;

const READ_BODY = `SELECT headers, body FROM millrace.bodies WHERE day = $1::date AND id = $2`;

export async function readContent(client: pg.PoolClient, row: ContentRow): Promise<EventContent> {
  let { headers, body }: BodyRow = row;
  if (body === null) {
    const { rows } = await client.query<BodyRow>(READ_BODY, [row.body_day, row.body_id]);
    ({ headers, body } = rows[0] ?? row);
  }
  if (headers !== null && body !== null) return { headers: row.own_headers ?? headers, body };
  throw new MillraceError(
    "body_missing",
    `Cannot read the event's body: it is not among the bodies of ${row.body_day}`,
  );
}
