import { describe, expect, test } from "vitest";
import { classify, statementKind } from "./transaction-control.ts";

describe("statementKind", () => {
  test.each([
    "commit",
    "COMMIT",
    "  \n\tCommit and chain",
    "-- a comment\ncommit",
    "--\rcommit",
    "/* a */ /* b /* nested */ still b */ commit",
    ";; commit",
    "/**/rollback",
    "rollback work",
    "ROLLBACK TRANSACTION AND CHAIN",
    "rollback prepared 'x'",
    "end",
    "abort",
    "begin isolation level serializable",
    "start transaction",
    "prepare /* x */ transaction 'x'",
    "commit prepared 'x'",
    "commit;select 1",
  ])("sees that %j ends or begins a transaction", (text) => {
    expect(statementKind(text)).toBe("control");
  });

  test.each([
    ["savepoint sp1", "savepoint"],
    ["release savepoint sp1", "savepoint_end"],
    ["rollback to savepoint sp1", "savepoint_end"],
    ["ROLLBACK /* x */ WORK TO sp1", "savepoint_end"],
    ["set search_path = x", "session"],
    ["set session statement_timeout = 0", "session"],
    ["set local statement_timeout = 0", "other"],
    ["prepare x as select 1", "session"],
    ["listen x", "session"],
    ["copy effects from stdin", "copy"],
    ["COPY effects (id) FROM /* x */ STDIN WITH (FORMAT csv)", "copy"],
    ["copy effects from stdout", "copy"],
    ["copy (select 1) to stdout", "copy"],
    ["copy effects from '/tmp/effects'", "other"],
    ["copying", "other"],
    ["select 'commit'", "other"],
    ["commitment", "other"],
    ["insert into commit values (1)", "other"],
    ["/* unfinished commit", "other"],
    ["", "other"],
  ])("takes %j for %s", (text, kind) => {
    expect(statementKind(text)).toBe(kind);
  });
});

describe("classify", () => {
  test.each([
    "savepoint millrace_1",
    "SAVEPOINT Millrace_x",
    'release savepoint "millrace_1"',
    "rollback /* x */ to millrace_2;",
    'rollback to savepoint U&"\\006dillrace_1"',
  ])("sees that the savepoint of %j may be the ledger's", (text) => {
    expect(classify(text).isReserved).toBe(true);
  });

  test.each(["savepoint sp1", 'release "Millrace_1"', "rollback to my_millrace_1", "select 1"])(
    "sees that %j names none of the ledger's savepoints",
    (text) => {
      expect(classify(text).isReserved).toBe(false);
    },
  );
});
