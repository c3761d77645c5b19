import { afterAll, beforeAll, expect, test } from "vitest";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { anEvent, keyOf } from "../support/events.ts";
import { claim, openTestLedger, patient, type TestLedger } from "../support/ledger-fixture.ts";

let server: TestPostgres;
let it: TestLedger;
beforeAll(async () => {
  server = await startPostgres();
  it = await openTestLedger({ url: server.url });
});
afterAll(async () => {
  await it?.close();
  await server?.stop();
});

test("a Postgres that restarts fails what runs as the database's fault, and the same pool goes on", async () => {
  const event = anEvent();
  const number = await claim(it.ledger, event);
  const end = await it.ledger.claims
    .attempt(
      keyOf(event),
      number,
      async () => {
        await server.restart();
        return "handled";
      },
      patient(),
    )
    .catch((error: unknown) => error);
  expect(end).toMatchObject({ code: "database_unavailable" });
  expect(await claim(it.ledger, event)).toBe(number + 1);
  await until(() => it.pool.totalCount === it.pool.idleCount);
});
