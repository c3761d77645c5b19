import { expect, test } from "vitest";
import { checkConnections, workerConnections } from "./connection-budget.ts";

/** A pool whose Postgres gives so many connections. */
const giving = (given: number) =>
  ({ query: () => Promise.resolve({ rows: [{ given }] }) }) as unknown as Parameters<
    typeof checkConnections
  >[0];

const config = { worker: { concurrency: 20 } } as Parameters<typeof checkConnections>[1];
const check = (given: number, queuesOnPostgres = false) =>
  checkConnections(giving(given), config, { queuesOnPostgres });

test("a worker starts with just the connections that it may need, and not with one less", async () => {
  const wanted = workerConnections(20);
  await expect(check(wanted)).resolves.toBeUndefined();
  await expect(check(wanted - 1)).rejects.toMatchObject({
    code: "too_many_connections",
    message: expect.stringContaining(
      `it may need ${wanted} connections and Postgres gives ${wanted - 1}`,
    ),
  });
});

test("queues on Postgres want connections too", async () => {
  await expect(check(workerConnections(20), true)).rejects.toMatchObject({
    code: "too_many_connections",
  });
});
