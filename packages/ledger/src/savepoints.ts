import { leadingWords } from "./statement-kind.ts";

/**
 * The savepoints of one transaction, in the way that Postgres keeps them: a stack on which a name may
 * occur more than once and hides the earlier ones. RELEASE ends a savepoint and all that were set after
 * it. ROLLBACK TO ends only those after it and leaves it set, but empty.
 *
 * @see https://www.postgresql.org/docs/current/sql-savepoint.html
 */
export class Savepoints {
  readonly #stack: { readonly name: string; isEmpty: boolean }[] = [];

  /** True while there is a savepoint that was not released or rolled back to. */
  get isAnyOpen(): boolean {
    return this.#stack.some((savepoint) => !savepoint.isEmpty);
  }

  /** Applies a SAVEPOINT, RELEASE or ROLLBACK TO that Postgres has run without an error. */
  apply(text: string): void {
    const words = [...leadingWords(text)];
    // Some words of each statement are optional; the name is always the last one.
    const name = unquote(words.at(-1) ?? "");
    if (words[0] === "savepoint") {
      this.#stack.push({ name, isEmpty: false });
      return;
    }
    const index = this.#stack.findLastIndex((savepoint) => savepoint.name === name);
    const named = this.#stack[index];
    if (named === undefined) return;
    named.isEmpty = true;
    this.#stack.length = words[0] === "release" ? index : index + 1;
  }
}

function unquote(identifier: string): string {
  return identifier.startsWith('"') ? identifier.slice(1, -1).replaceAll('""', '"') : identifier;
}
