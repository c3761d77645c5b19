import { expect, onTestFinished, test } from "vitest";
import { onPostgres } from "../support/backends.ts";
import { useLedger } from "../support/ledger-fixture.ts";
import { openTestStores } from "../support/stores-fixture.ts";

const it = useLedger();

const hazards = () => it.ledger.claims.groupHazards();

const functionOf = (name: string, body: string) =>
  it.ask(`CREATE FUNCTION ${name}() RETURNS void LANGUAGE plpgsql AS $$ BEGIN ${body} END $$`);

test("a database with tables and harmless functions has no hazards", async () => {
  await it.ask("CREATE TABLE orders (id text, temperature int)");
  await functionOf("harmless", "UPDATE orders SET temperature = 1; PERFORM 1;");
  expect(await hazards()).toEqual([]);
});

test("a queue's own tables and functions are none", async () => {
  const stores = await openTestStores(await onPostgres());
  onTestFinished(() => stores.close());
  expect(await stores.ledger.claims.groupHazards()).toEqual([]);
});

test("row-level security is one", async () => {
  await it.ask("CREATE TABLE tenants (id text)");
  await it.ask("ALTER TABLE tenants ENABLE ROW LEVEL SECURITY");
  expect(await hazards()).toEqual(["table public.tenants has row-level security"]);
  await it.ask("DROP TABLE tenants");
});

test.each([
  ["set_config", "PERFORM set_config('app.tenant', 'a', true);"],
  ["set", "SET LOCAL app.tenant = 'a';"],
  ["set after another statement", "PERFORM 1; SET LOCAL app.tenant = 'a';"],
  ["an advisory lock", "PERFORM pg_advisory_xact_lock(1);"],
  ["a temporary table", "CREATE TEMP TABLE scratch (id int);"],
])("a function with %s is one", async (_, body) => {
  await functionOf("hazardous", body);
  expect(await hazards()).toEqual([
    "function public.hazardous may change settings, locks or temporary tables",
  ]);
  await it.ask("DROP FUNCTION hazardous");
});

test("nobody inserts a completed event but a transaction of first attempts", async () => {
  const client = await it.connect();
  const insert = async (isOurs: boolean, column = "attempts_at_retry", value = "0") => {
    await client.query("BEGIN");
    const mark = "SELECT set_config('millrace.first_attempts', pg_current_xact_id()::text, true)";
    if (isOurs) await client.query(mark);
    const inserted = client.query(
      `INSERT INTO millrace.events (
         received_at, body_id, generation, attempts, unsigned, source, event_id, type, status,
         outcome, body_hash, started_at, processed_at, ${column}
       ) VALUES (now(), 1, 0, 1, false, 'shop', 'made_up', 't', 'completed',
         'handled', 'h', now(), now(), ${value})`,
    );
    const answer = await inserted.then(
      () => "inserted",
      (error: { code?: string }) => error.code,
    );
    await client.query("ROLLBACK");
    return answer;
  };
  try {
    expect(await insert(false)).toBe("MR001");
    expect(await insert(true)).toBe("inserted");
    expect(await insert(true, "attempts_at_retry", "1")).toBe("MR001");
    expect(await insert(true, "last_error_code", "'permanent_error'")).toBe("MR001");
    // The setting ends with its transaction, also on the same connection.
    expect(await insert(false)).toBe("MR001");
  } finally {
    client.release();
  }
});
