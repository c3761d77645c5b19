import type { AddressInfo } from "node:net";
import { createTestEnvironment, type TestEnvironment } from "millrace/testing";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import config from "./millrace.config.ts";
import { carriers, issues, mails, payments, shipments, users } from "./schema.ts";

// How one tests handlers: what is delivered here is signed, verified, recorded and handled as in
// production, on a scratch database with the store's own tables.

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await createTestEnvironment(config, { directory: import.meta.dirname });
});
afterAll(() => environment.close());
afterEach(() => vi.unstubAllEnvs());

test("a user that is created is in the table", async () => {
  const ada = { user_id: "u1", email: "ada@example.com", name: "Ada" };
  const { status, outcome } = await environment.deliver("hookmesh", "user.created", {
    payload: ada,
  });
  expect({ status, outcome }).toEqual({ status: "completed", outcome: "handled" });
  expect(await environment.db.select().from(users)).toMatchObject([{ id: "u1", name: "Ada" }]);
});

test("a subscription that comes before its user waits for it", async () => {
  const payload = { user_id: "u2", tier: "gold" };
  const early = await environment.deliver("hookmesh", "subscription.created", { payload });
  expect(early).toMatchObject({ status: "pending", attempts: 1 });
  expect(early.error?.message).toContain("not created yet");

  await environment.deliver("hookmesh", "user.created", { payload: { user_id: "u2" } });
  const later = await environment.attempt("hookmesh", early.event.event_id);
  expect(later).toMatchObject({ status: "completed", attempts: 2 });
});

test("an order by an unknown carrier fails at once, and goes out when it is sent again", async () => {
  const payload = { order_id: "o1", carrier: "Pigeon Post" };
  const order = { payload };
  const failed = await environment.deliver("hookmesh", "order.shipped", order, { id: "evt_o1" });
  expect(failed).toMatchObject({ status: "failed", error: { code: "permanent_error" } });
  expect(await environment.db.select().from(shipments)).toEqual([]);

  await environment.db.insert(carriers).values({ name: "Pigeon Post" });
  const again = await environment.deliver("hookmesh", "order.shipped", order, { id: "evt_o1" });
  expect(again.status).toBe("completed");
  expect(await environment.db.select().from(shipments)).toMatchObject([{ orderId: "o1" }]);
});

test("a refund ends the same before its payment and after it", async () => {
  const refund = { data: { object: { payment_intent: "pi_1", customer: "c1", amount: 500 } } };
  const payment = { data: { object: { id: "pi_1", customer: "c1", amount_received: 500 } } };
  await environment.deliver("stripe", "charge.refunded", refund);
  await environment.deliver("stripe", "payment_intent.succeeded", payment);
  expect(await environment.db.select().from(payments)).toMatchObject([
    { id: "pi_1", status: "refunded" },
  ]);
});

test("an issue's older state that comes late does not undo a newer one", async () => {
  const repository = { full_name: "mill/race" };
  const issue = { number: 7, title: "A leak", state: "closed", updated_at: "2026-05-02T00:00:00Z" };
  const older = { ...issue, state: "open", updated_at: "2026-05-01T00:00:00Z" };
  await environment.deliver("github", "issues", { issue, repository });
  await environment.deliver("github", "issues", { issue: older, repository });
  expect(await environment.db.select().from(issues)).toMatchObject([
    { number: 7, state: "closed" },
  ]);
});

const shipped = (order_id: string, options: { attempts?: number; settle?: boolean } = {}) =>
  environment.deliver(
    "hookmesh",
    "order.shipped",
    { payload: { order_id, email: `${order_id}@example.com` } },
    { id: `evt_${order_id}`, ...options },
  );

/** A mail server, for as long as the test runs. What it was sent, and what it answers instead of taking it. */
async function startMailServer(refuse?: { code: number; message: string }): Promise<string[]> {
  const taken: string[] = [];
  const onData: SMTPServerOptions["onData"] = (stream, _session, done) => {
    let text = "";
    stream.on("data", (chunk) => (text += chunk));
    stream.on("end", () => {
      if (refuse === undefined) taken.push(text);
      const { code: responseCode, message } = refuse ?? {};
      done(message === undefined ? null : Object.assign(new Error(message), { responseCode }));
    });
  };
  const server = new SMTPServer({ disabledCommands: ["AUTH", "STARTTLS"], onData });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  vi.stubEnv("SMTP_URL", `smtp://127.0.0.1:${port}`);
  return taken;
}

test("a shipped order is mailed once, however often it is delivered", async () => {
  const sent = await startMailServer();
  await shipped("o2", { settle: true });
  const order = await shipped("o2", { settle: true });
  expect(sent).toEqual([expect.stringContaining("Subject: Order o2 is on its way")]);
  const [mail] = await environment.emitted(order);
  expect(mail).toMatchObject({ status: "completed", payload: { to: "o2@example.com" } });
  // A mail that a crash has sent twice has one Message-ID: it is made of the step's key.
  expect(mail?.steps).toEqual([{ name: "send", result: expect.stringMatching(/^<.+@.+>$/) }]);
  expect(sent[0]).toContain(mail?.steps[0]?.result);
  expect(await environment.db.select().from(mails)).toMatchObject([
    { messageId: mail?.steps[0]?.result, recipient: "o2@example.com" },
  ]);
});

test("a mail waits for its server, and the shipment does not wait for the mail", async () => {
  vi.stubEnv("SMTP_URL", "smtp://127.0.0.1:1");
  const order = await shipped("o3", { settle: true });
  expect(order.status).toBe("completed");
  expect(await environment.emitted(order)).toMatchObject([
    { status: "pending", error: { code: "retry_later" } },
  ]);
  const sent = await startMailServer();
  await environment.advance(60_000);
  expect(await environment.emitted(order)).toMatchObject([{ status: "completed", attempts: 2 }]);
  expect(sent.filter((mail) => mail.includes("o3@example.com"))).toHaveLength(1);
});

test("a mail that the server refuses for good fails at once", async () => {
  await startMailServer({ code: 552, message: "Too large" });
  const [mail] = await environment.emitted(await shipped("o4", { settle: true }));
  expect(mail).toMatchObject({ status: "failed", error: { code: "permanent_error" } });
  expect(mail?.error?.message).toContain("The mail server refuses the mail: 552");
});

test("a server that is busy is asked again later", async () => {
  await startMailServer({ code: 451, message: "Try again" });
  const [mail] = await environment.emitted(await shipped("o5", { settle: true }));
  expect(mail).toMatchObject({ status: "pending", error: { code: "retry_later" } });
});

test("without a mail server the mail is written to the log, and the event completes", async () => {
  vi.stubEnv("SMTP_URL", "");
  const [mail] = await environment.emitted(await shipped("o6", { settle: true }));
  expect(mail).toMatchObject({ status: "completed", outcome: "handled" });
});
