import {
  defineConfig,
  defineHandlers,
  type HandlerFunction,
  type HandlerTransaction,
} from "@millrace/core";
import { stripe } from "@millrace/providers";
import { relations } from "drizzle-orm";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { beforeAll, expect, test } from "vitest";
import { fresh, prepare, useProcessors, warmGroups } from "./processor-fixture.ts";
import { until } from "../support/until.ts";

const authors = pgTable("authors", { id: integer().primaryKey(), name: text().notNull() });
const books = pgTable("books", {
  id: integer().primaryKey(),
  authorId: integer("author_id").notNull(),
});
const schema = {
  ...{ authors, books },
  booksRelations: relations(books, ({ one }) => ({
    author: one(authors, { fields: [books.authorId], references: [authors.id] }),
  })),
};
const config = defineConfig({ sources: { shop: stripe() }, schema });
const on = defineHandlers<typeof config>();

const processors = useProcessors();
beforeAll(async () => {
  await processors.ask(
    `create table authors (id int primary key, name text not null);
     create table books (id int primary key, author_id int not null references authors);
     insert into authors values (1, 'Ada');
     insert into books values (10, 1)`,
  );
});

async function readBy(tx: HandlerTransaction<typeof schema>): Promise<unknown> {
  const found = await tx.query.books.findMany({ with: { author: true } });
  const nested = await tx.transaction((inner) => inner.query.authors.findFirst());
  return { found, nested };
}

const READ = {
  found: [{ id: 10, authorId: 1, author: { id: 1, name: "Ada" } }],
  nested: { id: 1, name: "Ada" },
};

test.each([
  ["an attempt that was recorded first", { schema }, true],
  ["a first attempt that is made alone", { schema, groups: true }, false],
])("%s has the tables", async (_, options, startedBefore) => {
  const read: unknown[] = [];
  const handler = on("shop", "*", async (_event, { tx }) => void read.push(await readBy(tx)));
  const { process } = prepare(processors, [handler], options, { startedBefore });
  expect(await process()).toMatchObject({ kind: "completed" });
  expect(read).toEqual([READ]);
});

test("first attempts that share a transaction have the tables", async () => {
  const read: unknown[] = [];
  const run: HandlerFunction = async (_event, { tx }) => {
    read.push(await readBy(tx as unknown as HandlerTransaction<typeof schema>));
  };
  const { together, groups } = await warmGroups(processors, run, { schema });
  // On a busy machine groups may be small for a while.
  await until(async () => {
    const before = groups().length;
    const results = await together(Array.from({ length: 30 }, () => fresh()));
    expect(results.every(({ kind }) => kind === "completed")).toBe(true);
    return Math.max(...groups().slice(before)) > 10;
  });
  expect(read.length).toBeGreaterThanOrEqual(30);
  for (const one of read) expect(one).toEqual(READ);
});

test("without tables in the config, a query of one says so", async () => {
  const { process } = prepare(processors, (_event, { tx }) => void Reflect.get(tx.query, "books"));
  expect(await process()).toMatchObject({
    message: expect.stringContaining("Cannot read tx.query.books: the config has no schema"),
  });
});
