import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "@millrace/embedded-postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { anEvent, claim, keyOf, openLedger, patient, type TestLedger } from "./fixture.ts";

let folder: string;
let server: EmbeddedPostgres;
let it: TestLedger;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-restart-"));
  server = await startEmbeddedPostgres({ dataDir: folder });
  it = await openLedger({ url: server.url });
});
afterAll(async () => {
  await it?.close();
  await server?.stop("immediate");
  await rm(folder, { recursive: true, force: true });
});

test("a Postgres that restarts fails what runs as the database's fault, and the same pool goes on", async () => {
  const event = anEvent();
  const number = await claim(it.ledger, event);
  const end = await it.ledger
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
