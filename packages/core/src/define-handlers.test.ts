import { relations } from "drizzle-orm";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineConfig } from "./define-config.ts";
import { defineHandlers } from "./define-handlers.ts";
import type { WebhookEvent } from "./handler.ts";
import { on } from "./on.ts";
import type { Provider } from "./provider.ts";
import type { ConfigInput } from "./settings.ts";
import type { InternalDefinition, SourceDefinition } from "./source-settings.ts";

// `npm run check` proves that the compiler refuses these, and test/package does in a project.

const authors = pgTable("authors", { id: integer().primaryKey(), name: text().notNull() });
const books = pgTable("books", { id: integer().primaryKey(), authorId: integer().notNull() });
const booksRelations = relations(books, ({ one }) => ({
  author: one(authors, { fields: [books.authorId], references: [authors.id] }),
}));

function source<Type extends string, Field extends string>(): SourceDefinition<Type, Field> {
  return { provider: {} as Provider<Field>, options: {} };
}

const config = defineConfig({
  sources: {
    pay: source<"intent.succeeded" | "intent.failed_late" | "refund/created", "data">(),
    shop: source<string, "payload">(),
    code: source<"push" | "pull_request_review", never>(),
    mail: {} as InternalDefinition<"receipt" | "any", { receipt: { order: string }; any: unknown }>,
  },
  schema: { authors, books, booksRelations },
});
const typedOn = defineHandlers<typeof config>();
const nothing = () => {};

test("it is `on`, and binds the same handlers", () => {
  expect(typedOn).toBe(on);
});

test("sources and types are those of the config", () => {
  typedOn("pay", "intent.succeeded", nothing);
  typedOn("pay", ["intent.succeeded", "intent.failed_late"], nothing);
  typedOn("shop", "whatever the sender names it", nothing);
  typedOn(["pay", "code"], ["intent.succeeded", "push"], nothing);
  typedOn("*", ["*", "push"], nothing);
  // @ts-expect-error no such source
  typedOn("pya", "intent.succeeded", nothing);
  // @ts-expect-error no such source
  typedOn(["pay", "shpo"], "*", nothing);
  // @ts-expect-error no such type
  typedOn("pay", "intent.suceeded", nothing);
  // @ts-expect-error a type of another source
  typedOn("pay", "push", nothing);
  // @ts-expect-error a type of neither
  typedOn(["pay", "code"], "order.placed", nothing);
  // @ts-expect-error one of them is misspelled
  typedOn("pay", ["intent.succeeded", "intent.failed_lat"], nothing);
});

test("a `*` may stand behind what types begin with", () => {
  typedOn("pay", ["*", "intent.*", "intent.failed_*", "refund/*"], nothing);
  typedOn("code", ["pull_*", "pull_request_*"], nothing);
  typedOn("shop", "order.*", nothing);
  // @ts-expect-error no type begins like this
  typedOn("pay", "intnet.*", nothing);
});

test("a schema types the payload and the data, and a call what is written", () => {
  const order = z.object({ payload: z.object({ id: z.string(), paid: z.stringbool() }) });
  typedOn("shop", "order.placed", {
    schema: order,
    when: (event) => event.payload.payload.paid && event.data.paid,
    call: (event) => {
      expectTypeOf(event.data).toEqualTypeOf<{ id: string; paid: boolean }>();
      // @ts-expect-error no such field
      void event.payload.payload.pad;
      // @ts-expect-error no such field
      void event.data.pad;
      return Promise.resolve({ refundId: 7 });
    },
    write: (event, _context, called) => {
      expectTypeOf(event.payload.payload.id).toEqualTypeOf<string>();
      expectTypeOf(called).toEqualTypeOf<{ refundId: number }>();
    },
  });
  on("shop", "order.placed", {
    schema: order,
    call: (event) => event.payload.payload.id,
    write: (_event, _context, called) => {
      expectTypeOf(called).toEqualTypeOf<string>();
    },
  });
});

test("without a schema the payload is what its author says, or anything", () => {
  typedOn("pay", "intent.succeeded", (event) => {
    expectTypeOf(event.payload).toBeAny();
    expectTypeOf(event.data).toBeAny();
  });
  interface Intent {
    data: { object: { id: string } };
  }
  typedOn("pay", "intent.succeeded", (event: WebhookEvent<Intent>) => {
    expectTypeOf(event.payload.data.object.id).toEqualTypeOf<string>();
  });
  typedOn("code", "push", {
    schema: z.object({ ref: z.string() }),
    write: (event) => {
      expectTypeOf(event.data).toEqualTypeOf<{ ref: string }>();
    },
  });
  typedOn("pay", "intent.succeeded", { batch: 5 }, (events) => {
    expectTypeOf(events[0]?.payload).toBeAny();
  });
});

test("tables and relations are those of the config's schema", () => {
  typedOn("pay", "*", async (_event, { tx }) => {
    const [book] = await tx.query.books.findMany({ with: { author: true } });
    expectTypeOf(book?.author.name).toEqualTypeOf<string | undefined>();
    await tx.transaction(async (inner) => void (await inner.query.authors.findFirst()));
    // @ts-expect-error no such table
    await tx.query.boks.findMany();
    // @ts-expect-error no such relation
    await tx.query.books.findMany({ with: { autor: true } });
  });
  on("pay", "*", async (_event, { tx }) => {
    // @ts-expect-error the plain `on` knows no tables
    await tx.query.books.findMany();
  });
});

test("a config of a type that says nothing allows every source and every type", () => {
  const loose = defineHandlers<ConfigInput>();
  loose("whatever", "it.is", async (_event, { tx }) => {
    // @ts-expect-error it knows no tables
    await tx.query.books.findMany();
  });
});

test("emit takes the internal sources, their types, and what their schemas take", () => {
  typedOn("shop", "*", async (_event, { emit }) => {
    await emit("mail", "receipt", { order: "o1" }, { afterMs: 5 });
    await emit("mail", "any", 7);
    // @ts-expect-error a source with a URL
    await emit("shop", "receipt", { order: "o1" });
    // @ts-expect-error no such type
    await emit("mail", "reciept", { order: "o1" });
    // @ts-expect-error not as its schema says
    await emit("mail", "receipt", { order: 1 });
  });
  on("shop", "*", async (_event, { emit }) => await emit("any", "thing", 1));
});
