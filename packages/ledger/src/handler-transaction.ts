import type { HandlerTransaction } from "@millrace/core";
import { NodePgSession, NodePgTransaction } from "drizzle-orm/node-postgres";
import { PgDialect } from "drizzle-orm/pg-core";
import type { Guard } from "./guard.ts";

const dialect = new PgDialect();

/**
 * The transaction as a handler has it. It is drizzle's transaction and not its database, so that a
 * nested `transaction()` is a savepoint; a database would send BEGIN and COMMIT on our connection.
 */
export function handlerTransaction(guard: Guard): HandlerTransaction {
  // drizzle calls nothing of a client but `query`.
  const client = guard.client as unknown as ConstructorParameters<typeof NodePgSession>[0];
  const session = new NodePgSession<Record<string, unknown>, Record<string, never>>(
    client,
    dialect,
    undefined,
  );
  return new NodePgTransaction(dialect, session, undefined);
}
