import { on, standardWebhooks } from "millrace";
import { sql } from "drizzle-orm";
import { post, type Stack } from "../support/pipeline.ts";
import { eventOf, type SeenEvent } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

export interface Statements {
  readonly run?: readonly string[];
  readonly fails?: boolean;
}

export const SQL_CONFIG = {
  sources: { acme: standardWebhooks({ attempts: 1 }) },
  handlers: [
    on("acme", "test.sql", async ({ payload }, { tx }) => {
      const { run = [], fails } = payload.data as Statements;
      for (const statement of run) await tx.execute(sql.raw(statement));
      if (fails === true) throw new Error("as the event says");
    }),
  ],
};

let sent = 0;

export async function send({ ingress }: Stack, type: string, data: Statements = {}) {
  const id = `evt_${(sent += 1)}_1`;
  await post(ingress.url, { id, type, data });
  return id;
}

export async function settle(
  stack: Stack,
  type: string,
  data: Statements = {},
): Promise<SeenEvent & { readonly id: string }> {
  const id = await send(stack, type, data);
  const event = await until(async () => {
    const found = await eventOf(stack.pipeline.database, id);
    return found?.status !== "pending" && found;
  });
  return { ...event, id };
}
