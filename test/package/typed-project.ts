export const TYPED = {
  "typed/package.json": '{ "type": "module" }\n',
  "typed/schema.ts": `import { relations } from "drizzle-orm";
import { pgTable, text } from "drizzle-orm/pg-core";

export const customers = pgTable("customers", { id: text().primaryKey(), email: text().notNull() });
export const orders = pgTable("orders", { id: text().primaryKey(), customerId: text("customer_id") });
export const ordersRelations = relations(orders, ({ one }) => ({
  customer: one(customers, { fields: [orders.customerId], references: [customers.id] }),
}));
`,
  "typed/millrace.config.ts": `import { defineConfig, github, hmac, hookMesh, stripe } from "millrace";
import * as schema from "./schema.ts";

export default defineConfig({
  sources: {
    stripe: stripe({ attempts: 8, types: ["v2.core.account.closed"] }),
    github: github(),
    shop: hookMesh({ types: ["order.placed", "order.cancelled"] }),
    legacy: hmac({ header: "x-signature", id: "json:id" }),
  },
  schema,
  handlers: () => import("./handlers.ts"),
});
`,
  "typed/on.ts": `import { defineHandlers } from "millrace";
import type config from "./millrace.config.ts";

export const on = defineHandlers<typeof config>();
`,
  "typed/handlers.ts": `import { z } from "zod";
import { on } from "./on.ts";
import { orders } from "./schema.ts";

const Order = z.object({ payload: z.object({ order_id: z.string(), paid: z.boolean() }) });

export default [
  on("shop", "order.cancelled", {
    schema: Order,
    when: (event) => event.data.paid,
    call: async (event, { once }) => {
      const refund = await once("refund", (key) => Promise.resolve({ id: key + event.data.order_id }));
      return { refundId: refund.id };
    },
    write: async (event, { tx }, { refundId }) => {
      const known = await tx.query.orders.findFirst({ with: { customer: true } });
      const email: string | undefined = known?.customer?.email;
      await tx.insert(orders).values({ id: refundId + event.payload.payload.order_id + email });
    },
  }),
  on("stripe", ["v2.core.account.closed", "customer.subscription.*"], async (event, { tx }) => {
    await tx.insert(orders).values({ id: event.data.object.id });
  }),
  on(["github", "legacy"], ["push", "whatever"], { batch: 50 }, async (events, { tx }) => {
    await tx.insert(orders).values(events.map(({ id }) => ({ id })));
  }),
  on("*", "*", () => {}),
];
`,
  "typed/probe.ts": `import { z } from "zod";
import { on } from "./on.ts";

const Order = z.object({ payload: z.object({ order_id: z.string() }) });
const nothing = () => {};

on("strpe", "invoice.paid", nothing); // wrong: source
on("stripe", "invoice.payd", nothing); // wrong: type
on("shop", "order.cancelled", nothing);
on("shop", "order.placed", {
  schema: Order,
  when: (event) => event.payload.payload.orderid === "1", // wrong: field
  call: (event) => ({ id: event.data.order_id }),
  write: async (event, { tx }, called) => {
    await tx.query.order.findFirst(); // wrong: table
    await tx.query.orders.findFirst({ with: { custmer: true } }); // wrong: relation
    return void [event.data.order_id, called.id, called.idd]; // wrong: what call returns
  },
});
`,
};
