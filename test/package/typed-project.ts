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
  "typed/millrace.config.ts": `import { defineConfig, hookMesh, stripe } from "millrace";
import * as schema from "./schema.ts";

export default defineConfig({
  sources: {
    stripe: stripe(),
    shop: hookMesh({ types: ["order.placed", "order.cancelled"] }),
  },
  schema,
});
`,
  "typed/on.ts": `import { defineHandlers } from "millrace";
import type config from "./millrace.config.ts";

export const on = defineHandlers<typeof config>();
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
