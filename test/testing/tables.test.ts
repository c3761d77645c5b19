import { relations, sql } from "drizzle-orm";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { defineConfig, defineHandlers, hookMesh, type Handler } from "millrace";
import { createTestEnvironment } from "millrace/testing";
import { expect, inject, test } from "vitest";

const authors = pgTable("authors", { id: integer().primaryKey(), name: text().notNull() });
const books = pgTable("books", {
  id: integer().primaryKey(),
  authorId: integer("author_id").notNull(),
});
const booksRelations = relations(books, ({ one }) => ({
  author: one(authors, { fields: [books.authorId], references: [authors.id] }),
}));

test("a test environment has the tables of the config, for handlers and for the test", async () => {
  const config = defineConfig({
    sources: { shop: hookMesh() },
    schema: { authors, books, booksRelations },
    handlers: () => handlers,
  });
  const on = defineHandlers<typeof config>();
  // Of a type that does not depend on the config's.
  const handlers: Handler[] = [
    on("shop", "book.written", async (event, { tx }) => {
      const { id, name }: { id: number; name: string } = event.data;
      const author = await tx.query.authors.findFirst({
        where: (table, { eq }) => eq(table.name, name),
      });
      await tx.insert(books).values({ id, authorId: author?.id ?? 0 });
    }),
  ];
  const environment = await createTestEnvironment(config, { databaseUrl: inject("postgresUrl") });
  try {
    await environment.db.execute(
      sql`create table authors (id int primary key, name text not null)`,
    );
    await environment.db.execute(
      sql`create table books (id int primary key, author_id int not null)`,
    );
    await environment.db.insert(authors).values({ id: 7, name: "Ada" });
    const payload = { id: 1, name: "Ada" };
    const { status } = await environment.deliver("shop", "book.written", { payload });
    expect(status).toBe("completed");
    const book = await environment.db.query.books.findFirst({ with: { author: true } });
    expect(book).toEqual({ id: 1, authorId: 7, author: { id: 7, name: "Ada" } });
  } finally {
    await environment.close();
  }
});
