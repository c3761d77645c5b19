import { createServer, type ServerResponse } from "node:http";
import { on, type Handler } from "@millrace/core";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../support/until.ts";
import {
  CIRCUMSTANCES,
  jobOf,
  openPageShop,
  retried,
  type Fact,
  type PageShop,
} from "./page-shop.ts";

// The newest state, as docs/idempotency.md reads it in `call`, next to handlers that do not.

let shop: PageShop;
let sender: Sender;
const urlBefore = process.env["SHOP_API_URL"];
beforeAll(async () => {
  sender = await startSender();
  process.env["SHOP_API_URL"] = sender.url;
  shop = await openPageShop();
});
afterAll(async () => {
  if (urlBefore === undefined) delete process.env["SHOP_API_URL"];
  else process.env["SHOP_API_URL"] = urlBefore;
  await shop?.close();
  await sender?.close();
});
beforeEach(() => shop.begin());

const opened: Fact = { type: "invoice.opened", data: { invoice_id: "i1", status: "open" } };
const paid: Fact = { type: "invoice.paid", data: { invoice_id: "i1", status: "paid" } };
const OPEN = { id: "i1", status: "open", version: 1 };
const PAID = { id: "i1", status: "paid", version: 2 };
const invoices = () => shop.ask("select * from invoices");

const upsert = ({ status, version }: typeof OPEN) =>
  sql`insert into invoices values ('i1', ${status}, ${version})
      on conflict (id) do update set status = excluded.status, version = excluded.version`;
const read = async () => (await (await fetch(sender.url)).json()) as typeof OPEN;

describe("two events of one invoice", () => {
  const writesPayload = on("shop", "invoice.*", async (event, { tx }) => {
    await tx.execute(upsert({ ...OPEN, status: event.payload.data.status }));
  });

  test.each(CIRCUMSTANCES)("%s", async (circumstance) => {
    await shop.run(circumstance, [writesPayload], [opened, paid]);
    const wrong = circumstance === "in reverse order" ? "open" : "paid";
    expect(await invoices(), "without the recipe").toMatchObject([{ status: wrong }]);

    await shop.begin();
    sender.invoice = PAID;
    await shop.run(circumstance, shop.handlers, [opened, paid]);
    expect(await invoices(), "with the recipe").toEqual([PAID]);
  });
});

test("an answer that comes late does not overwrite a newer one", async () => {
  const readsOnly = on<{}, typeof OPEN>("shop", "invoice.*", {
    call: read,
    write: async (_event, { tx }, invoice) => void (await tx.execute(upsert(invoice))),
  });
  const afterLateAnswer = async (handlers: readonly Handler[]) => {
    await shop.begin();
    const [one, other] = shop.startWorkers(handlers);
    sender.invoice = OPEN;
    const send = sender.holdNext();
    const late = one.process(jobOf(opened));
    await until(() => sender.held === 1);
    sender.invoice = PAID;
    expect(await other.process(jobOf(paid))).toMatchObject({ kind: "completed" });
    send();
    expect(await late).toMatchObject({ kind: "completed" });
    return await invoices();
  };
  expect(await afterLateAnswer([readsOnly])).toEqual([OPEN]);
  expect(await afterLateAnswer(shop.handlers)).toEqual([PAID]);
});

test("a later attempt reads again, unless the read is a step that is remembered", async () => {
  const remembers = on<{}, typeof OPEN>("shop", "invoice.*", {
    call: (_event, { once }) => once("read", read),
    write: async (_event, { tx }, invoice) => void (await tx.execute(upsert(invoice))),
  });
  const afterSecondAttempt = async (handlers: readonly Handler[]) => {
    await shop.begin();
    sender.invoice = OPEN;
    const failsOnce = handlers.map((handler) => ({
      ...handler,
      write: async (...given: Parameters<NonNullable<Handler["write"]>>) => {
        await handler.write?.(...given);
        if (sender.invoice === PAID) return;
        sender.invoice = PAID;
        throw new Error("This attempt fails");
      },
    }));
    const [worker] = shop.startWorkers(failsOnce);
    const job = jobOf(paid);
    const result = await retried(worker, job, await worker.process(job));
    expect(result).toMatchObject({ kind: "completed" });
    return await invoices();
  };
  expect(await afterSecondAttempt([remembers])).toEqual([OPEN]);
  expect(await afterSecondAttempt(shop.handlers)).toEqual([PAID]);
});

interface Sender {
  readonly url: string;
  /** What it answers. */
  invoice: typeof OPEN;
  readonly held: number;
  /** Holds the answer to the next request, which is of the time when it came, until it is sent. */
  holdNext(): () => void;
  close(): Promise<void>;
}

async function startSender(): Promise<Sender> {
  const held: { response: ServerResponse; body: string }[] = [];
  let holds = false;
  const server = createServer((_request, response) => {
    const body = JSON.stringify(sent.invoice);
    if (!holds) return void response.end(body);
    holds = false;
    held.push({ response, body });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const sent: Sender = {
    url: `http://127.0.0.1:${port}`,
    invoice: OPEN,
    get held() {
      return held.length;
    },
    holdNext: () => {
      holds = true;
      return () => {
        for (const { response, body } of held.splice(0)) response.end(body);
      };
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return sent;
}
