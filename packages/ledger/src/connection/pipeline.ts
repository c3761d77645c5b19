import pg from "pg";
import { serialize } from "pg-protocol";
import { prepareValue } from "pg/lib/utils.js";
import { keepsPrepared } from "./statement.ts";

const EXECUTE = serialize.execute();
const SYNC = serialize.sync();
const DESCRIBE = serialize.describe({ type: "P" });

/** A statement without values whose rows nobody reads. Its text gives its prepared name. */
class Command {
  readonly text: string;
  readonly name: string;
  /** Bind and Execute. */
  readonly bytes: Buffer;

  constructor(text: string) {
    this.text = text;
    this.name = `millrace_${text.replaceAll(/\W+/g, "_")}`;
    this.bytes = Buffer.concat([serialize.bind({ statement: this.name }), EXECUTE]);
  }
}

const commands = new Map<string, Command>();

/** @param text - one of few, since each is prepared on each connection. */
export function command(text: string): Command {
  let known = commands.get(text);
  if (known === undefined) commands.set(text, (known = new Command(text)));
  return known;
}

export type Statement = (pg.QueryConfig & { readonly rowMode?: "array" }) | Command;

export interface BatchAnswer {
  /** One for each statement; fewer after an error of Postgres. */
  readonly results: readonly pg.QueryResult[];
  readonly error?: unknown;
  /** The index of the statement that has failed. */
  readonly failedAt?: number | undefined;
}

/**
 * Sends statements in one message with one Sync, which costs less than as many queries, here and
 * in Postgres. It skips the rest behind an error. Never rejects.
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export async function sendBatch(
  client: pg.PoolClient,
  statements: readonly Statement[],
): Promise<BatchAnswer> {
  return await new Promise((resolve) => {
    client.query(new Batch(statements, keepsPrepared(client), resolve));
  });
}

/** @throws the first error, behind which Postgres has done nothing */
export async function pipeline(
  client: pg.PoolClient,
  statements: readonly Statement[],
): Promise<readonly pg.QueryResult[]> {
  const { results, error } = await sendBatch(client, statements);
  if (error !== undefined) throw error;
  return results;
}

interface ParsedNames {
  readonly parsedStatements: Record<string, string>;
  readonly submittedNamedStatements: Record<string, string>;
}

interface ResultBuilder extends pg.QueryResult {
  addFields(fields: unknown): void;
  parseRow(fields: unknown): pg.QueryResultRow;
  addCommandComplete(message: unknown): void;
}
type ResultOf = new (rowMode?: "array", types?: pg.CustomTypesConfig) => ResultBuilder;
const { Result } = pg as unknown as { Result: ResultOf };

/** Larger batches are written in parts, and not copied. */
const COPIED_BYTES_MAX = 65_536;

/** pg takes queries of its own class only. It calls these methods with the protocol's messages. */
class Batch extends pg.Query {
  name: string | undefined;
  text = "";
  readonly statements: readonly Statement[];
  readonly #isNamed: boolean;
  readonly #resolve: (answer: BatchAnswer) => void;
  readonly #results: pg.QueryResult[] = [];
  #result: ResultBuilder = new Result();
  #rowError: { readonly error: unknown; readonly at: number } | undefined;

  constructor(
    statements: readonly Statement[],
    isNamed: boolean,
    resolve: (answer: BatchAnswer) => void,
  ) {
    super("");
    this.statements = statements;
    this.#isNamed = isNamed;
    this.#resolve = resolve;
    this.submit = (connection) => this.#send(connection);
    this.#begin();
  }

  /** pg notes by this name and text what Postgres has parsed. */
  #begin(): void {
    const statement = this.statements[this.#results.length];
    if (statement === undefined) return;
    this.name = this.#nameOf(statement);
    this.text = statement.text;
    if (statement instanceof Command) return;
    this.#result = new Result(statement.rowMode, statement.types);
  }

  #nameOf({ name }: Statement): string | undefined {
    return this.#isNamed ? name : undefined;
  }

  /** Returns the error of a value that cannot be sent. */
  #send(connection: pg.Connection): unknown {
    const { parsedStatements, submittedNamedStatements: submitted } =
      connection as unknown as ParsedNames;
    const parts: Buffer[] = [];
    try {
      for (const statement of this.statements) {
        const name = this.#nameOf(statement);
        const known = name && (parsedStatements[name] ?? submitted[name]);
        // As pg refuses it: Postgres would run the statement that has the name.
        if (known && known !== statement.text) {
          throw new Error(`Prepared statements must be unique: "${name}" has another text`);
        }
        if (!known) {
          parts.push(serialize.parse({ name: name ?? "", text: statement.text, types: [] }));
          if (name !== undefined) submitted[name] = statement.text;
        }
        parts.push(...bind(statement, name));
      }
    } catch (error) {
      this.#forgetSubmitted(connection);
      return error;
    }
    parts.push(SYNC);
    write(connection, parts);
    return undefined;
  }

  #forgetSubmitted(connection: pg.Connection): void {
    const { submittedNamedStatements: submitted } = connection as unknown as ParsedNames;
    for (const { name } of this.statements.slice(this.#results.length)) {
      if (name !== undefined) delete submitted[name];
    }
  }

  handleRowDescription({ fields }: { readonly fields: unknown }): void {
    this.#result.addFields(fields);
  }

  handleDataRow({ fields }: { readonly fields: unknown }): void {
    if (this.statements[this.#results.length] instanceof Command) return;
    try {
      this.#result.rows.push(this.#result.parseRow(fields));
    } catch (error) {
      this.#rowError ??= { error, at: this.#results.length };
    }
  }

  handleCommandComplete(message: { readonly text: string }): void {
    if (this.statements[this.#results.length] instanceof Command) {
      this.#results.push({
        command: message.text,
        rowCount: null,
        oid: 0,
        fields: [],
        rows: [],
      });
    } else {
      this.#result.addCommandComplete(message);
      this.#results.push(this.#result);
    }
    this.#begin();
  }

  handleEmptyQuery(): void {
    this.#results.push(this.#result);
    this.#begin();
  }

  handleError(error: unknown, connection: pg.Connection): void {
    this.#forgetSubmitted(connection);
    // The state of the transaction is known when the connection is ready again, or has ended.
    const end = () => {
      connection.off("readyForQuery", end).off("end", end);
      this.#resolve({ results: this.#results, error, failedAt: this.#results.length });
    };
    if (!(error instanceof pg.DatabaseError) || error.severity === "FATAL") end();
    else connection.on("readyForQuery", end).on("end", end);
  }

  handleReadyForQuery(): void {
    const { error, at } = this.#rowError ?? {};
    this.#resolve({ results: this.#results, error, failedAt: at });
  }
}

function bind(statement: Statement, name: string | undefined): readonly Buffer[] {
  if (!(statement instanceof Command)) {
    const values = statement.values as unknown[] | undefined;
    const bound = { statement: name ?? "", values: values ?? [], valueMapper: prepareValue };
    return [serialize.bind(bound), DESCRIBE, EXECUTE];
  }
  return name === undefined ? [serialize.bind(), EXECUTE] : [statement.bytes];
}

function write({ stream }: pg.Connection, parts: readonly Buffer[]): void {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length <= COPIED_BYTES_MAX) {
    stream.write(Buffer.concat(parts, length));
    return;
  }
  stream.cork();
  for (const part of parts) stream.write(part);
  stream.uncork();
}
