import { notAwaited, type HandlerTransaction } from "@millrace/core";
import { getTableName, type Table } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";

const VERBS = {
  insert: "an insert into",
  update: "an update of",
  delete: "a delete from",
} as const;
type Verb = keyof typeof VERBS;
const NEVER_RUN = "was built and never run";

type Built<Name extends "buildInsertQuery" | "buildUpdateQuery" | "buildDeleteQuery"> = Parameters<
  PgDialect[Name]
>[0];

/**
 * The queries that a handler builds. drizzle runs a query when it is awaited, and no compiler or
 * server notices one that never is. A query counts as run when its SQL was asked for: by its
 * own run, or by another query that contains it.
 */
export class BuiltQueries extends PgDialect {
  readonly #begun: { readonly verb: Verb; readonly table: Table }[] = [];
  readonly #asked = new Map<object, Verb>();
  readonly #raw = new Set<object>();

  /** Notes what a transaction, and those nested in it, begin to build. */
  watch(tx: HandlerTransaction): HandlerTransaction {
    const execute = tx.execute.bind(tx);
    const nest = tx.transaction.bind(tx);
    const begin = tx.with.bind(tx);
    const refresh = tx.refreshMaterializedView.bind(tx);
    return Object.assign(this.#noteVerbs(tx), {
      with: (...tables: Parameters<typeof begin>) => this.#noteVerbs(begin(...tables)),
      refreshMaterializedView: (view: Parameters<typeof refresh>[0]) =>
        this.#noteRaw(refresh(view)),
      execute: (...given: Parameters<typeof execute>) => this.#noteRaw(execute(...given)),
      transaction: (work: Parameters<typeof nest>[0]) => nest((inner) => work(this.watch(inner))),
    });
  }

  #noteVerbs<Builder extends Pick<HandlerTransaction, Verb>>(builder: Builder): Builder {
    for (const verb of ["insert", "update", "delete"] as const) {
      const begin = builder[verb].bind(builder) as (table: Table) => unknown;
      const noted = (table: Table) => {
        this.#begun.push({ verb, table });
        return begin(table);
      };
      Object.assign(builder, { [verb]: noted });
    }
    return builder;
  }

  #noteRaw<Raw extends { execute: () => unknown; getSQL: () => unknown }>(raw: Raw): Raw {
    this.#raw.add(raw);
    for (const name of ["execute", "getSQL"] as const) {
      const ask = raw[name].bind(raw);
      raw[name] = () => {
        this.#raw.delete(raw);
        return ask();
      };
    }
    return raw;
  }

  override buildInsertQuery(config: Built<"buildInsertQuery">) {
    this.#asked.set(config, "insert");
    return super.buildInsertQuery(config);
  }

  override buildUpdateQuery(config: Built<"buildUpdateQuery">) {
    this.#asked.set(config, "update");
    return super.buildUpdateQuery(config);
  }

  override buildDeleteQuery(config: Built<"buildDeleteQuery">) {
    this.#asked.set(config, "delete");
    return super.buildDeleteQuery(config);
  }

  /** @throws `query_not_awaited` */
  check(): void {
    const left = [...this.#asked].map(([config, verb]) => ({ config, verb }));
    for (const { verb, table } of this.#begun) {
      const at = left.findIndex(
        (asked) => asked.verb === verb && (asked.config as { table?: Table }).table === table,
      );
      if (at === -1) throw notAwaited(`${VERBS[verb]} "${getTableName(table)}" ${NEVER_RUN}`);
      left.splice(at, 1);
    }
    if (this.#raw.size > 0) throw notAwaited(`a query of tx.execute ${NEVER_RUN}`);
  }
}
