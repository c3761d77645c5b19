import { createOperator, type Operator } from "@millrace/operations";
import type { Ledger } from "@millrace/ledger";
import type { CliContext } from "./context.ts";
import { withStores } from "./with-stores.ts";

/**
 * Opens ledger and queues for the time of one command, and does what it does under the name of who runs
 * it.
 *
 * @throws as {@link withStores}
 */
export async function withOperator<Result>(
  context: CliContext,
  reason: string | undefined,
  work: (operator: Operator, ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const actor = { user: context.user, role: "operator", via: "cli", reason } as const;
  return await withStores(context, (stores) => work(createOperator(stores, actor), stores.ledger));
}
